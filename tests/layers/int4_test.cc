// SPDX-License-Identifier: Apache-2.0
// Layers with int4 weights. tests/golden compares their values with Keras's.
#include <doctest/doctest.h>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/strings.h"
#include "framework/graph/function.h"
#include "framework/model/quantizers.h"
#include "framework/ops/ops.h"
#include "framework/train/checkpoint.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "optimizers/optimizers.h"
#include "tests/support/files.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using quantizers::AbsMaxQuantizer;
using quantizers::Int4QuantizationConfig;
using quantizers::Int8QuantizationConfig;
using quantizers::pack_int4;
using quantizers::unpack_int4;
using test::contains;
using test::error_of;

using Names = std::vector<std::string>;

Tensor numbers(const Shape& shape) {
  const Tensor line = ops::arange(shape.num_elements(), DType::Float32);
  return ops::reshape(ops::sin(line * 1.7), shape);
}

double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  if (a.num_elements() == 0) return 0;
  return ops::max(ops::abs(ops::cast(a, DType::Float32) - ops::cast(b, DType::Float32)))
      .item<double>();
}

Names names(const std::vector<Variable>& variables) {
  Names result;
  for (const Variable& variable : variables) result.push_back(variable.name());
  return result;
}

// Weights that are multiples of 1 / 7 are represented exactly in int4.
Tensor sevenths(const Shape& shape) {
  const Tensor sevenths = ops::round(numbers(shape) * 6) / 7;
  return ops::slice_update(sevenths, {0, 0}, ops::ones({1, shape[1]}));
}

Sequential dense_model() {
  return Sequential(Input({.shape = {6}}),
                    {layers::Dense({.units = 5, .activation = "relu", .name = "first"}),
                     layers::Dropout({.rate = 0.5}), layers::Dense({.units = 3, .name = "last"})});
}

TEST_CASE("numbers of four bits are packed along any axis, by each way of computing") {
  for (const Shape& shape : std::vector<Shape>{{16}, {7}, {1}, {0}, {5, 3}, {3, 0}, {2, 5, 3}}) {
    CAPTURE(shape);
    const Tensor line = ops::arange(shape.num_elements(), DType::Int32);
    const Tensor values =
        ops::reshape(ops::cast(ops::mod(line * 7 + 3, 16) - 8, DType::Int8), shape);
    const Tensor bytes = ops::cast(values + 8, DType::UInt8);
    for (int64_t axis = -shape.rank(); axis < shape.rank(); ++axis) {
      CAPTURE(axis);
      const quantizers::PackedInt4 made = pack_int4(values, axis);
      const int64_t size = values.dim(axis);
      CHECK(made.orig_len == size);
      CHECK(made.packed.dtype() == DType::Int8);
      CHECK(made.packed.dim(axis) == (size + 1) / 2);
      CHECK(distance(unpack_int4(made.packed, size, axis), values) == 0);
      const Tensor packed = pack_int4(bytes, axis, DType::UInt8).packed;
      CHECK(packed.dtype() == DType::UInt8);
      CHECK(distance(unpack_int4(packed, size, axis, DType::UInt8), bytes) == 0);
      const auto back = function(
          [&](const Tensor& x) { return unpack_int4(pack_int4(x, axis).packed, size, axis); });
      CHECK(distance(back(values).single(), values) == 0);
    }
  }
  // The same bytes as signed or unsigned integers represent the same numbers.
  const Tensor packed = Tensor::from<uint8_t>({0x8f, 0x70}, {2});
  CHECK(unpack_int4(packed, 4).to_vector<int8_t>() == std::vector<int8_t>{-1, -8, 0, 7});
  CHECK(unpack_int4(ops::cast(packed, DType::Int8), 3, 0, DType::UInt8).to_vector<uint8_t>() ==
        std::vector<uint8_t>{15, 8, 0});
}

TEST_CASE("what can't be packed, or isn't in blocks, is said") {
  CHECK(contains(error_of([] { pack_int4(ops::ones({2})); }),
                 "pack_int4: expected numbers of int8, got float32. Cast them first"));
  CHECK(contains(error_of([] { pack_int4(ops::ones({2}), 0, DType::Int32); }),
                 "pack_int4: expected int8 or uint8, got int32."));
  const Tensor bytes = ops::zeros({2, 3}, DType::Int8);
  CHECK(contains(error_of([&] { pack_int4(bytes, 2); }), "OutOfRange"));
  CHECK(contains(error_of([&] { unpack_int4(bytes, 7, 1); }),
                 "unpack_int4: expected an orig_len in [0, 6], since axis 1 has 3 bytes, got 7."));
  CHECK(contains(error_of([&] { unpack_int4(ops::zeros({2}), 2); }),
                 "unpack_int4: expected int8 or uint8, got float32."));
  const auto grouped = quantizers::abs_max_quantize_grouped_with_zero_point;
  CHECK(contains(error_of([&] { grouped(bytes, 2, {}); }),
                 "expected a matrix of floating-point numbers, got int8 of shape (2, 3)."));
  CHECK(contains(error_of([&] {
                   grouped(ops::ones({2, 2}), 0, {});
                 }),
                 "expected a block_size > 0, got 0."));
  CHECK(contains(error_of([&] {
                   grouped(ops::ones({2, 2}), 1, {.value_range = {0, 255}, .dtype = DType::UInt8});
                 }),
                 "expected a value_range within (-128, 127) for int8, got (0, 255)."));
  CHECK(grouped(ops::zeros({0, 3}), 2, {}).scale.shape() == Shape{0, 3});
  CHECK(grouped(numbers({3, 2}), INT64_MAX, {}).scale.shape() == Shape{1, 2});
}

TEST_CASE("quantize replaces a layer's weights by two numbers a byte") {
  const layers::Dense dense({.units = 5, .name = "dense"});
  const Tensor x = numbers({3, 6});
  const Tensor before = dense(x);
  const Tensor kernel = dense.kernel();
  SUBCASE("in blocks") {
    dense.quantize("int4");
    CHECK(names(dense.weights()) ==
          Names{"bias", "kernel", "kernel_scale", "kernel_zero", "g_idx"});
    CHECK(dense.get().dtype_policy().name() == "int4/128_from_float32");
    CHECK(dense.weight("kernel_scale").shape() == Shape{1, 5});
    CHECK(dense.weight("g_idx").path() == "dense/g_idx");
  }
  SUBCASE("by outputs") {
    dense.quantize({.config = Int4QuantizationConfig{.block_size = {}}});
    CHECK(names(dense.weights()) == Names{"bias", "kernel", "kernel_scale"});
    CHECK(dense.get().dtype_policy().name() == "int4/-1_from_float32");
    CHECK(dense.weight("kernel_scale").shape() == Shape{5});
  }
  CHECK(names(dense.trainable_weights()) == Names{"bias"});
  CHECK(dense.kernel().dtype() == DType::Int8);
  CHECK(dense.kernel().shape() == Shape{6, 3});
  CHECK(distance(dense(x), before) > 0);
  CHECK(distance(dense(x), before) < 0.3);
  CHECK(error_of([&] { dense(numbers({3, 5})); }) != "");
  CHECK(dense(ops::zeros({0, 6})).shape() == Shape{0, 5});
  CHECK(distance(function([&](const Tensor& in) { return dense(in); })(x).single(), dense(x)) <
        1e-6);
}

TEST_CASE("int4 numbers are exact where they can be") {
  const Tensor x = numbers({4, 7});
  for (const std::optional<int64_t> block_size : {-1, 1000}) {
    CAPTURE(*block_size);
    const layers::Dense dense({.units = 3, .use_bias = false});
    dense.build({4, 7});
    const Tensor kernel = sevenths({7, 3});
    dense.set_weights({kernel});
    dense.quantize({.config = Int4QuantizationConfig{.block_size = block_size}});
    const double bound = *block_size == -1 ? 1e-5 : 0.7;
    CHECK(distance(dense(x), ops::matmul(x, kernel)) < bound);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = dense(x);
    const Tensor gradient = tape.gradient(ops::sum(y), x);
    CHECK(distance(gradient, ops::matmul(ops::ones({4, 3}), ops::transpose(kernel))) < bound);
  }
}

TEST_CASE("blocks of all sizes, and layers that go both ways") {
  const Tensor x = numbers({3, 7});
  const Tensor indices = Tensor::from<int32_t>({0, 4, 2, 2}, {2, 2});
  for (const int64_t block_size : {2, 3, 7, 8, 64}) {
    CAPTURE(block_size);
    const Int4QuantizationConfig config{.block_size = block_size};
    layers::EinsumDense einsum({.equation = "...x,xyz->...yz", .output_shape = {3, 2}});
    layers::ReversibleEmbedding table({.input_dim = 5, .output_dim = 7, .tie_weights = false});
    const layers::Embedding embedding({.input_dim = 5, .output_dim = 7});
    einsum(x);
    table(indices);
    embedding(indices);
    einsum.quantize({.config = config});
    table.quantize({.config = config});
    embedding.quantize({.config = config});
    const int64_t blocks = (7 + block_size - 1) / block_size;
    CHECK(einsum.weight("kernel_scale").shape() == Shape{blocks, 6});
    CHECK(table.weight("embeddings_zero").shape() == Shape{5, blocks});
    CHECK(table.reverse_embeddings().shape() == Shape{4, 5});
    CHECK(table.weight("reverse_embeddings_zero").shape() == Shape{blocks, 5});
    CHECK(embedding.embeddings().shape() == Shape{5, 4});
    const CallOptions reverse{.settings = Json::object({{"reverse", true}})};
    const auto all = [&](const Tensor& in, const Tensor& at) {
      return std::vector<Tensor>{einsum(in), table(at), table(in, reverse), embedding(at)};
    };
    const std::vector<Tensor> eager = all(x, indices);
    const Function traced([&](const std::vector<Tensor>& in) { return all(in[0], in[1]); });
    const auto compiled = traced(x, indices);
    for (size_t i = 0; i < compiled.size(); ++i) CHECK(distance(compiled[i], eager[i]) < 1e-5);
    CHECK(contains(error_of([&] { embedding(ops::full({1}, 5, DType::Int32)); }), "OutOfRange"));
    CHECK(embedding(ops::zeros({0, 2}, DType::Int32)).shape() == Shape{0, 2, 7});
    CHECK(table(ops::zeros({0, 7}), reverse).shape() == Shape{0, 5});
  }
}

TEST_CASE("a model whose layers are int4 predicts, learns and is saved") {
  const test::Scratch scratch;
  const Tensor x = numbers({4, 6}), y = numbers({4, 3});
  for (const int64_t block_size : {-1, 4, 128}) {
    CAPTURE(block_size);
    Sequential model = dense_model();
    const Tensor before = model.predict(x, {.verbose = 0});
    const Int4QuantizationConfig config{.block_size = block_size};
    model.quantize({.config = config});
    CHECK(distance(model.predict(x, {.verbose = 0}), before) < 0.5);
    CHECK(distance(model.predict(x, {.verbose = 0}), model(x)) < 1e-5);
    const Tensor kernel = model.get_layer("last").weight("kernel");
    model.compile({.optimizer = "adam", .loss = "mse"});
    model.fit(x, y, {.verbose = 0});
    CHECK(distance(model.get_layer("last").weight("kernel"), kernel) == 0);
    const Tensor expected = model.predict(x, {.verbose = 0});

    model.save(scratch.path("model.keras"));
    Model back = load_model(scratch.path("model.keras"));
    CHECK(distance(back.predict(x, {.verbose = 0}), expected) == 0);
    CHECK(back.get_layer("first").get().dtype_policy().name() ==
          fmt::format("int4/{}_from_float32", block_size));
    CHECK(back.compiled());
    model.save(scratch.path("model.h5"));
    CHECK(distance(load_model(scratch.path("model.h5")).predict(x, {.verbose = 0}), expected) == 0);

    model.save_weights(scratch.path("model.weights.h5"));
    Model clone = clone_model(model);
    clone.load_weights(scratch.path("model.weights.h5"));
    CHECK(distance(clone.predict(x, {.verbose = 0}), expected) == 0);
    if (block_size == 4) {
      const Variable blocks = model.get_layer("first").weight("g_idx");
      CHECK(blocks.stored().to_vector<float>() == std::vector<float>{0, 0, 0, 0, 1, 1});
      blocks.store(ops::flip(blocks.stored(), 0));
      model.save_weights(scratch.path("other.weights.h5"));
      CHECK(contains(error_of([&] { clone.load_weights(scratch.path("other.weights.h5")); }),
                     "first/g_idx: expected the number of each element's block, in order"));
      blocks.store(ops::flip(blocks.stored(), 0));
    }
    Checkpoint checkpoint({{"model", model}});
    const std::string path = checkpoint.save(scratch.path("ckpt"));
    Sequential restored = dense_model();
    restored.quantize({.config = config});
    Checkpoint({{"model", restored}}).restore(path);
    CHECK(distance(restored.predict(x, {.verbose = 0}), expected) == 0);
  }
}

TEST_CASE("layers within layers are int4") {
  const Tensor x = numbers({2, 3, 4});
  const Tensor input = Input({.shape = {3, 4}});
  Tensor y = layers::MultiHeadAttention({.num_heads = 2, .key_dim = 3})({input, input});
  y = layers::TimeDistributed(layers::Dense({.units = 3, .dtype = "mixed_bfloat16"}))(y);
  Model model(input, y);
  const Tensor before = model.predict(x, {.verbose = 0});
  model.quantize("int4");
  CHECK(distance(model.predict(x, {.verbose = 0}), before) > 0);
  CHECK(distance(model.predict(x, {.verbose = 0}), before) < 0.5);
  CHECK(distance(model(x), model.predict(x, {.verbose = 0})) < 0.02);
  const test::Scratch scratch;
  CHECK(
      contains(error_of([&] { model.save(scratch.path("model.keras")); }),
               "within it is quantized, which the config of the layer that has it doesn't record"));
}

TEST_CASE("LoRA adapts int4 weights, and files have both as int4") {
  const test::Scratch scratch;
  const Tensor x = numbers({4, 6}), y = numbers({4, 3});
  for (const int64_t block_size : {-1, 4}) {
    CAPTURE(block_size);
    const layers::Dense first({.units = 5});
    Sequential model(Input({.shape = {6}}), {first, layers::Dense({.units = 3})});
    model.quantize({.config = Int4QuantizationConfig{.block_size = block_size}});
    const Tensor kernel = first.kernel();
    first.enable_lora({.rank = 2});
    CHECK(first.weight("lora_kernel_a").shape() == Shape{6, 2});
    CHECK(first.weight("lora_kernel_b").shape() == Shape{2, 5});
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.2}), .loss = "mse"});
    const double loss = model.evaluate(x, y, {.verbose = 0}).at("loss");
    model.fit(x, y, {.epochs = 30, .verbose = 0});
    CHECK(model.evaluate(x, y, {.verbose = 0}).at("loss") < 0.8 * loss);
    CHECK(distance(first.kernel(), kernel) == 0);
    CHECK(distance(first.weight("lora_kernel_b"), ops::zeros({2, 5})) > 0);
    model.save(scratch.path("adapted.keras"));
    Model back = load_model(scratch.path("adapted.keras"));
    CHECK(back.layers()[0].weight("kernel").dtype() == DType::Int8);
    CHECK(distance(back.layers()[0].weight("kernel"), kernel) > 0);
    CHECK(distance(back.predict(x, {.verbose = 0}), model.predict(x, {.verbose = 0})) < 0.7);
  }
}

TEST_CASE("what can't be int4, and how, is said") {
  CHECK(error_of([] { QuantizationConfig(Int4QuantizationConfig{.block_size = 0}); }) ==
        "InvalidArgument: Int4QuantizationConfig: expected a block_size > 0, or -1 or none for a "
        "scale each output, got 0.");
  CHECK(error_of([] {
          QuantizationConfig(Int4QuantizationConfig{.activation_quantizer = AbsMaxQuantizer()});
        }) ==
        "InvalidArgument: Int4QuantizationConfig: expected no quantizers with a block_size, got "
        "some with 128. Omit them, or set .block_size = -1.");
  const Quantizer of_bytes = AbsMaxQuantizer({.axis = {0}});
  CHECK(error_of([&] {
          QuantizationConfig(
              Int4QuantizationConfig{.weight_quantizer = of_bytes, .block_size = -1});
        }) ==
        "InvalidArgument: Int4QuantizationConfig: expected a weight_quantizer of the value_range "
        "(-8, 7), got [-127, 127].");
  const layers::Dense dense({.units = 2, .name = "dense"});
  dense.build({3, 4});
  const Quantizer tens = [](const Tensor& x, const OptionalList<int64_t>&) -> Quantized {
    return {ops::full(x.shape(), 10, DType::Int8), ops::ones({1, x.dim(1)})};
  };
  CHECK(error_of([&] {
          dense.quantize(
              {.config = Int4QuantizationConfig{.weight_quantizer = tens, .block_size = -1}});
        }) ==
        "InvalidArgument: Dense 'dense': expected a weight_quantizer that makes numbers within "
        "(-8, 7), got 10.");
  dense.quantize("int8");
  CHECK(contains(error_of([&] { dense.quantize("int4"); }),
                 "is already quantized, with dtype policy int8_from_float32."));
  for (const char* size : {"0", "-2", "x", "", "4x", "99999999999999999999"}) {
    const std::string name = fmt::format("int4/{}_from_float32", size);
    CHECK(error_of([&] { layers::Dense({.units = 2, .dtype = name}); }) ==
          fmt::format("InvalidArgument: Dtype policy '{}': expected a block size > 0 behind int4/, "
                      "or -1 for none, got '{}'.",
                      name, size));
  }
  CHECK(contains(error_of([] { layers::Dense({.units = 2, .dtype = "int8/4_from_float32"}); }),
                 "expected int8 or int4, such as int8_from_float32"));
  CHECK(contains(error_of([] { layers::Dense({.units = 2, .dtype = "int4_from_int32"}); }),
                 "int4 doesn't go with this policy. Take int4_from_float32 or"));
  CHECK(contains(error_of([] {
                   layers::Dense({.units = 2,
                                  .quantization_config = Int8QuantizationConfig(),
                                  .dtype = "int4_from_float32"})
                       .build({2, 3});
                 }),
                 "expected a quantization_config of int4, as its dtype policy int4_from_float32 "
                 "says, got one of int8."));
}

}  // namespace
}  // namespace cornu
