// SPDX-License-Identifier: Apache-2.0
// Training steps of whole models: what they enqueue on a GPU, and whether it is valid CUDA.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <future>

#include "framework/backends/cuda/cuda_backend.h"
#include "framework/backends/cuda/one_card.h"
#include "framework/core/strings.h"
#include "framework/graph/backend.h"
#include "tests/backends/cuda_runtime/compiling_runtime.h"
#include "tests/support/launches.h"

using namespace cornu;
using test::count_lines;

namespace {

void use_compiling_gpu() {
  static auto* runtime = cuda::testing::make_compiling_runtime().release();
  register_backend(DeviceType::Gpu, cuda::cuda_backend(*runtime));
}

// The launches of a model's training step, one line each.
std::vector<std::string> launches_of(Model model, const Tensor& x, const Tensor& y) {
  return test::launches_of([&] {
    model.compile({.optimizer = optimizers::Adam(),
                   .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
    model.fit(x, y, {.batch_size = x.dim(0), .verbose = 0});
  });
}

}  // namespace

TEST_CASE("the tutorial's CNN: its step as launches, with one for all updates") {
  use_compiling_gpu();
  const DeviceScope scope("GPU:0");
  Sequential model({layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}),
                    layers::MaxPooling2D(), layers::Flatten(),
                    layers::Dense({.units = 64, .activation = "relu"}),
                    layers::Dense({.units = 10})});
  const auto lines =
      launches_of(model, ops::zeros({64, 28, 28, 1}).host(), ops::zeros({64}, "int32").host());
  CAPTURE(join(lines, "\n"));
  CHECK(count_lines(lines, "kernel group_of_6") == 1);  // kernels and biases of three layers
  CHECK(count_lines(lines, "library") == 8);  // two convolutions, six products of matrices
  CHECK(lines.size() <= 40);
  CHECK(count_lines(lines, "copy") == 0);  // variables are updated in place
}

TEST_CASE("a transformer's block in bfloat16: attention and products come from libraries") {
  use_compiling_gpu();
  const DeviceScope scope("GPU:0");
  set_dtype_policy("mixed_bfloat16");
  const Tensor input = Input({.shape = {32, 64}});
  const Tensor attended =
      layers::MultiHeadAttention({.num_heads = 4, .key_dim = 16})({input, input});
  const Tensor normal = layers::LayerNormalization()(input + attended);
  const Tensor wide = layers::Dense({.units = 128, .activation = "gelu"})(normal);
  const Tensor output = layers::Dense({.units = 10})(normal + layers::Dense({.units = 64})(wide));
  Model model(input, output);
  set_dtype_policy("float32");
  const auto lines =
      launches_of(model, ops::zeros({2, 32, 64}).host(), ops::zeros({2, 32}, "int32").host());
  CAPTURE(join(lines, "\n"));
  CHECK(count_lines(lines, "kernel group_of_") >= 1);
  CHECK(count_lines(lines, "library") >= 20);
  CHECK(count_lines(lines, "kernel cast") <= 4);  // weights are cast together
  CHECK(count_lines(lines, "kernel attention") ==
        count_lines(lines, "kernel attention_statistics"));
}

TEST_CASE("an encoder block: each normalization is a launch forward and one backward") {
  use_compiling_gpu();
  const DeviceScope scope("GPU:0");
  for (const std::string policy : {"float32", "mixed_bfloat16"}) {
    CAPTURE(policy);
    set_dtype_policy(policy);
    const Tensor input = Input({.shape = {32, 64}});
    const Tensor projected = layers::Dense({.units = 64})(input);
    const Tensor normal = layers::LayerNormalization()(projected);
    const Tensor attended =
        layers::MultiHeadAttention({.num_heads = 4, .key_dim = 16})({normal, normal});
    const Tensor sum = projected + layers::Dropout({.rate = 0.1})(attended);
    const Tensor wide =
        layers::Dense({.units = 128, .activation = "gelu"})(layers::LayerNormalization()(sum));
    const Tensor narrow = layers::Dropout({.rate = 0.1})(layers::Dense({.units = 64})(wide));
    Model model(input, layers::Dense({.units = 10})(sum + narrow));
    set_dtype_policy("float32");
    const auto lines =
        launches_of(model, ops::zeros({2, 32, 64}).host(), ops::zeros({2, 32}, "int32").host());
    CAPTURE(join(lines, "\n"));
    CHECK(count_lines(lines, "kernel fused_rows") == 4);
    CHECK(lines.size() <= (policy == "float32" ? 65 : 82));
  }
}

TEST_CASE("what replicas on one card add up") {
  const auto runtime = cuda::testing::make_compiling_runtime();
  const auto ranks = cuda::make_one_card_collectives(*runtime, 0, 2);
  alignas(16) std::array<std::byte, 64> array;
  const auto call = [&](size_t rank) {
    for (const DType dtype : {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64,
                              DType::Int8, DType::Int64, DType::UInt32}) {
      for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min}) {
        const std::vector<Segment> segments(3, {array.data(), array.data(), 5});
        ranks[rank]->all_reduce(nullptr, segments, dtype, op);
      }
    }
    ranks[rank]->reduce_scatter(nullptr, array.data(), array.data() + 4, 1, DType::Float32,
                                ReduceOp::Max);
  };
  auto other = std::async(std::launch::async, call, 1);
  CHECK_NOTHROW(call(0));
  CHECK_NOTHROW(other.get());
}

TEST_CASE("all that these and a network of residual and depthwise blocks launch is CUDA") {
  use_compiling_gpu();
  const DeviceScope scope("GPU:0");
  const Tensor input = Input({.shape = {16, 16, 8}});
  Tensor x = layers::Conv2D({.filters = 8, .kernel_size = 3, .padding = "same"})(input);
  x = layers::ReLU()(layers::BatchNormalization()(x) + input);
  x = layers::DepthwiseConv2D({.kernel_size = 3, .padding = "same"})(x);
  x = layers::ReLU()(layers::BatchNormalization()(x));
  x = layers::Dropout({.rate = 0.2})(layers::GlobalAveragePooling2D()(x));
  Model model(input, layers::Dense({.units = 10})(x));
  CHECK(launches_of(model, ops::zeros({4, 16, 16, 8}).host(), ops::zeros({4}, "int32").host())
            .size() > 10);
  const cuda::testing::CompiledCounts counts = cuda::testing::compile_noted();
  CHECK(counts.noted > 50);
  CHECK(counts.compiled > 20);
}
