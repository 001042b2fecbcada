// SPDX-License-Identifier: Apache-2.0
// Individual CPU kernels for matrix products, convolutions, pooling, shape and random ops, with the
// shapes of the training steps timed by benchmarks/steps.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "framework/backends/cpu/kernel.h"
#include "framework/core/random.h"

namespace cornu::cpu {
namespace {

using Ints = std::vector<int64_t>;

Tensor random_tensor(const Shape& shape, DType dtype = DType::Float32, uint64_t bound = 0) {
  Tensor tensor = Tensor::empty(shape, dtype);
  PhiloxEngine engine(1);
  if (dtype == DType::Float32) {
    for (float& value : tensor.mutable_data<float>()) value = 2 * engine.uniform() - 1;
  } else if (dtype == DType::UInt8) {
    for (uint8_t& value : tensor.mutable_data<uint8_t>()) {
      value = static_cast<uint8_t>(engine.below(bound));
    }
  } else {
    for (int32_t& value : tensor.mutable_data<int32_t>()) {
      value = static_cast<int32_t>(engine.below(bound));
    }
  }
  return tensor;
}

// The input that a kernel is timed on.
struct Case {
  std::string op;
  std::string shape;  // for the benchmark's name
  std::vector<Tensor> inputs;
  Attributes attributes;
  std::vector<TensorType> outputs;
  double flop = 0;
};

void time_kernel(benchmark::State& state, const Case& c) {
  const OpDef def{.name = c.op, .infer = {}, .vjp = {}, .traits = {}};
  std::vector<TensorType> types;
  std::vector<const void*> in;
  double bytes = 0;
  for (const Tensor& input : c.inputs) {
    types.push_back(type_of(input));
    in.push_back(input.raw());
    bytes += static_cast<double>(input.bytes());
  }
  std::vector<Tensor> results;
  std::vector<void*> out;
  for (const TensorType& type : c.outputs) {
    results.push_back(Tensor::empty(type.shape, type.dtype));
    out.push_back(results.back().mutable_raw());
    bytes += static_cast<double>(type.bytes());
  }
  const auto kernel = kernel_table().make({def, c.attributes, types, c.outputs});
  Tensor scratch = Tensor::empty({static_cast<int64_t>(kernel->scratch_bytes())}, DType::UInt8);
  const KernelArgs args{.in = in.data(), .out = out.data(), .scratch = scratch.mutable_raw()};
  for (auto _ : state) kernel->run(args);
  using benchmark::Counter;
  const auto rate = Counter::kIsIterationInvariantRate;
  if (c.flop > 0) state.counters["FLOP/s"] = Counter(c.flop, rate);
  state.counters["B/s"] = Counter(bytes, rate, Counter::kIs1024);
}

void add(Case c) {
  const std::string name = c.op + "/" + c.shape;
  benchmark::RegisterBenchmark(name.c_str(), [c = std::move(c)](benchmark::State& state) {
    time_kernel(state, c);
  })->UseRealTime();
}

// A dense layer's product and its gradients.
void add_dense(int64_t batch, int64_t in, int64_t out) {
  auto product = [](int64_t m, int64_t k, int64_t n, bool transpose_a, bool transpose_b) {
    add({.op = "matmul",
         .shape = fmt::format("{}x{}x{}/{}{}", m, k, n, transpose_a ? 'T' : 'N',
                              transpose_b ? 'T' : 'N'),
         .inputs = {random_tensor(transpose_a ? Shape{k, m} : Shape{m, k}),
                    random_tensor(transpose_b ? Shape{n, k} : Shape{k, n})},
         .attributes = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}},
         .outputs = {{DType::Float32, {m, n}}},
         .flop = 2.0 * static_cast<double>(m * k * n)});
  };
  product(batch, in, out, false, false);
  product(in, batch, out, true, false);
  product(batch, out, in, false, true);
  add({.op = "matmul_bias_act",
       .shape = fmt::format("{}x{}x{}/relu", batch, in, out),
       .inputs = {random_tensor({batch, in}), random_tensor({in, out}), random_tensor({out})},
       .attributes = {{"transpose_a", false},
                      {"transpose_b", false},
                      {"activation", std::string("relu")}},
       .outputs = {{DType::Float32, {batch, out}}},
       .flop = 2.0 * static_cast<double>(batch * in * out)});
}

struct Conv {
  int64_t batch, size, c_in, c_out, taps, stride = 1, low = 0, high = 0, groups = 1;
};

void add_conv(const Conv& c) {
  const int64_t out = (c.size + c.low + c.high - c.taps) / c.stride + 1;
  const Shape x = {c.batch, c.size, c.size, c.c_in};
  const Shape y = {c.batch, out, out, c.c_out};
  const Shape filter = {c.taps, c.taps, c.c_in / c.groups, c.c_out};
  Attributes attributes = {{"strides", Ints{c.stride, c.stride}},
                           {"padding", Ints{c.low, c.high, c.low, c.high}},
                           {"dilation", Ints{1, 1}},
                           {"groups", c.groups},
                           {"activation", std::string("relu")},
                           {"input_shape", x.dims()},
                           {"filter_shape", filter.dims()}};
  const double flop = 2.0 * static_cast<double>(y.num_elements() * filter.num_elements() / c.c_out);
  const std::string shape =
      fmt::format("{}x{}x{}x{}/{}x{}/{}/stride{}/groups{}", c.batch, c.size, c.size, c.c_in, c.taps,
                  c.taps, c.c_out, c.stride, c.groups);
  auto add_op = [&](const char* op, std::vector<Tensor> inputs, const Shape& result) {
    add({op, shape, std::move(inputs), attributes, {{DType::Float32, result}}, flop});
  };
  add_op("conv", {random_tensor(x), random_tensor(filter)}, y);
  add_op("conv_bias_act", {random_tensor(x), random_tensor(filter), random_tensor({c.c_out})}, y);
  add_op("conv_input_grad", {random_tensor(y), random_tensor(filter)}, x);
  add_op("conv_filter_grad", {random_tensor(x), random_tensor(y)}, filter);
}

// The first layers of the MNIST network, fused into one kernel.
void add_conv_pool(int64_t batch, int64_t size, int64_t channels) {
  const int64_t pooled = (size - 2) / 2;
  const Shape y = {batch, pooled, pooled, channels};
  const Shape x = {batch, size, size, 1};
  const Shape filter = {3, 3, 1, channels};
  const Attributes attributes = {{"strides", Ints{1, 1}},
                                 {"padding", Ints{0, 0, 0, 0}},
                                 {"dilation", Ints{1, 1}},
                                 {"groups", int64_t{1}},
                                 {"activation", std::string("relu")},
                                 {"window", Ints{2, 2}},
                                 {"pool_strides", Ints{2, 2}},
                                 {"pool_padding", Ints{0, 0, 0, 0}},
                                 {"filter_shape", filter.dims()}};
  const std::string shape = fmt::format("{}x{}x{}x1/3x3/{}", batch, size, size, channels);
  const double flop = 72.0 * static_cast<double>(y.num_elements());
  add({"conv_pool",
       shape,
       {random_tensor(x), random_tensor(filter), random_tensor({channels})},
       attributes,
       {{DType::Float32, y}, {DType::UInt8, y}},
       flop});
  add({"conv_pool_filter_grad",
       shape,
       {random_tensor(x), random_tensor(y), random_tensor(y, DType::UInt8, 4)},
       attributes,
       {{DType::Float32, filter}, {DType::Float32, {channels}}},
       flop / 4});
}

void add_pool(int64_t batch, int64_t size, int64_t channels, int64_t window, int64_t stride) {
  const int64_t out = (size - window) / stride + 1;
  const Shape x = {batch, size, size, channels};
  const Shape y = {batch, out, out, channels};
  const Attributes attributes = {{"window", Ints{window, window}},
                                 {"strides", Ints{stride, stride}},
                                 {"padding", Ints{0, 0, 0, 0}},
                                 {"activation", std::string("relu")},
                                 {"input_shape", x.dims()}};
  const std::string shape =
      fmt::format("{}x{}x{}x{}/window{}/stride{}", batch, size, size, channels, window, stride);
  const TensorType pooled{DType::Float32, y};
  add({"max_pool_with_index", shape, {random_tensor(x)}, attributes, {pooled, {DType::UInt8, y}}});
  add({"max_pool_scatter",
       shape,
       {random_tensor(y), random_tensor(y, DType::UInt8, static_cast<uint64_t>(window * window))},
       attributes,
       {{DType::Float32, x}}});
  add({"avg_pool", shape, {random_tensor(x)}, attributes, {pooled}});
  add({"avg_pool_grad", shape, {random_tensor(y)}, attributes, {{DType::Float32, x}}});
}

void add_others() {
  Tensor seed = Tensor::from(std::vector<uint32_t>{1, 2});
  for (const char* op : {"random_uniform", "random_normal"}) {
    add({op,
         "64x512",
         {seed},
         {{"shape", Ints{64, 512}}, {"dtype", DType::Float32}},
         {{DType::Float32, {64, 512}}}});
  }
  for (int64_t size : {784, 1024}) {
    add({"transpose",
         fmt::format("{}x512", size),
         {random_tensor({size, 512})},
         {{"permutation", Ints{1, 0}}},
         {{DType::Float32, {512, size}}}});
  }
  const Tensor indices = random_tensor({64, 200}, DType::Int32, 20000);
  add({"gather",
       "20000x128/64x200",
       {random_tensor({20000, 128}), indices},
       {{"axis", int64_t{0}}},
       {{DType::Float32, {64, 200, 128}}}});
  add({"scatter_add",
       "20000x128/64x200",
       {indices, random_tensor({64, 200, 128})},
       {{"shape", Ints{20000, 128}}, {"axis", int64_t{0}}},
       {{DType::Float32, {20000, 128}}}});
}

void add_all() {
  add_conv_pool(64, 28, 32);
  add_dense(64, 5408, 64);
  add_dense(128, 784, 512);
  add_dense(128, 512, 10);
  add_conv({.batch = 64, .size = 32, .c_in = 3, .c_out = 32, .taps = 3, .low = 1, .high = 1});
  add_conv({.batch = 64, .size = 32, .c_in = 32, .c_out = 32, .taps = 3});
  add_conv({.batch = 64, .size = 15, .c_in = 32, .c_out = 64, .taps = 3, .low = 1, .high = 1});
  add_conv({.batch = 64, .size = 15, .c_in = 64, .c_out = 64, .taps = 3});
  add_conv({.batch = 16, .size = 16, .c_in = 64, .c_out = 256, .taps = 1});
  add_conv({.batch = 16,
            .size = 64,
            .c_in = 3,
            .c_out = 64,
            .taps = 7,
            .stride = 2,
            .low = 3,
            .high = 3});
  add_conv({.batch = 32,
            .size = 48,
            .c_in = 32,
            .c_out = 32,
            .taps = 3,
            .low = 1,
            .high = 1,
            .groups = 32});
  add_pool(64, 30, 32, 2, 2);
  add_pool(64, 13, 64, 2, 2);
  add_pool(16, 33, 64, 3, 2);
  add_others();
}

}  // namespace
}  // namespace cornu::cpu

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  cornu::cpu::add_all();
  benchmark::RunSpecifiedBenchmarks();
}
