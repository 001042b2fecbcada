// SPDX-License-Identifier: Apache-2.0
// Layers with int8 weights. tests/golden compares their values with Keras's.
#include <doctest/doctest.h>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/strings.h"
#include "framework/graph/function.h"
#include "framework/model/regularizers.h"
#include "framework/ops/ops.h"
#include "framework/train/checkpoint.h"
#include "framework/train/model.h"
#include "framework/train/register_serializable.h"
#include "layers/layers.h"
#include "optimizers/optimizers.h"
#include "tests/support/files.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using quantizers::AbsMaxQuantizer;
using quantizers::Int8QuantizationConfig;
using test::contains;
using test::error_of;

constexpr const char* kInt8 = "int8_from_float32";

Tensor numbers(const Shape& shape) {
  const Tensor line = ops::arange(shape.num_elements(), DType::Float32);
  return ops::reshape(ops::sin(line * 1.7), shape);
}

double distance(const Tensor& a, const Tensor& b) {
  return ops::max(ops::abs(ops::cast(a, DType::Float32) - ops::cast(b, DType::Float32)))
      .item<double>();
}

std::vector<std::string> names(const std::vector<Variable>& variables) {
  std::vector<std::string> result;
  for (const Variable& variable : variables) result.push_back(variable.name());
  return result;
}

using Names = std::vector<std::string>;

Sequential dense_model() {
  return Sequential(Input({.shape = {6}}),
                    {layers::Dense({.units = 5, .activation = "relu", .name = "first"}),
                     layers::Dropout({.rate = 0.5}), layers::Dense({.units = 2, .name = "last"})});
}

TEST_CASE("a product of int8 is int32, whatever its axes are") {
  const auto int8 = [](const Shape& shape) {
    return ops::cast(ops::round(numbers(shape) * 127), DType::Int8);
  };
  const auto wide = [](const Tensor& x) { return ops::cast(x, DType::Int32); };
  for (const auto& shapes : std::vector<std::pair<Shape, Shape>>{
           {{3, 4}, {4, 5}},
           {{1, 7}, {7, 1}},
           {{2, 3, 70}, {70, 33}},
           {{2, 1, 3, 4}, {5, 4, 2}},
           {{129, 300}, {300, 65}},
           {{7}, {7, 3}},
           {{0, 4}, {4, 5}},
           {{3, 0}, {0, 2}},
       }) {
    CAPTURE(shapes.first);
    const Tensor a = int8(shapes.first), b = int8(shapes.second);
    const Tensor product = ops::matmul(a, b);
    CHECK(product.dtype() == DType::Int32);
    const Tensor expected = ops::matmul(wide(a), wide(b));
    REQUIRE(product.shape() == expected.shape());
    if (product.num_elements() > 0) CHECK(distance(product, expected) == 0);
    const Function traced(
        [](const std::vector<Tensor>& x) { return std::vector<Tensor>{ops::matmul(x[0], x[1])}; });
    if (product.num_elements() > 0) CHECK(distance(traced(a, b)[0], expected) == 0);
  }
  const Tensor a = int8({5, 4}), b = int8({3, 5});
  const ops::MatmulOptions both{.transpose_x1 = true, .transpose_x2 = true};
  CHECK(distance(ops::matmul(a, b, both), ops::matmul(wide(a), wide(b), both)) == 0);
  CHECK(distance(ops::einsum("ba,cb->ac", a, b), ops::matmul(wide(a), wide(b), both)) == 0);
  CHECK(ops::einsum("ab->ab", a).dtype() == DType::Int32);
  // The largest sums possible with int8.
  const Tensor lowest = ops::full({1, 1000}, -128, DType::Int8);
  CHECK(ops::matmul(lowest, lowest, {.transpose_x2 = true}).item<int32_t>() == 16'384'000);
}

TEST_CASE("quantize replaces a layer's weights") {
  const layers::Dense dense(
      {.units = 2, .kernel_regularizer = regularizers::L2(0.1), .name = "dense"});
  const Tensor x = numbers({3, 4});
  const Tensor before = dense(x);
  const Tensor kernel = dense.kernel();
  CHECK(dense.losses().size() == 1);
  dense.quantize("int8");
  CHECK(names(dense.weights()) == Names{"bias", "kernel", "kernel_scale"});
  CHECK(names(dense.trainable_weights()) == Names{"bias"});
  CHECK(dense.losses().empty());
  CHECK(dense.kernel().dtype() == DType::Int8);
  CHECK(dense.kernel().path() == "dense/kernel");
  CHECK(dense.weight("kernel_scale").path() == "dense/kernel_scale");
  CHECK(dense.get().dtype_policy().name() == kInt8);
  const Tensor rounded = ops::cast(dense.kernel(), DType::Float32) / dense.weight("kernel_scale");
  CHECK(distance(rounded, kernel) < 0.01);
  CHECK(distance(dense(x), before) < 0.02);
  CHECK(dense.get_config().at("quantization_config").at("class_name") ==
        Json("Int8QuantizationConfig"));
}

TEST_CASE("the gradient of a product is that of the weights as they are dequantized") {
  const Tensor x = numbers({3, 4});
  const Tensor upstream = numbers({3, 2});
  for (const bool weights_alone : {false, true}) {
    Int8QuantizationConfig config;
    if (weights_alone) config.activation_quantizer = {};
    const layers::Dense dense({.units = 2, .quantization_config = config, .dtype = kInt8});
    dense.build({3, 4});
    dense.set_weights({numbers({2}), ops::cast(numbers({4, 2}) * 100, DType::Int8),
                       Tensor::from<float>({50, 70}, {2})});
    const Tensor kernel = ops::cast(dense.kernel(), DType::Float32) / dense.weight("kernel_scale");
    GradientTape tape;
    tape.watch(x);
    const Tensor y = dense(x);
    CHECK(distance(y, ops::matmul(x, kernel) + dense.bias()) < (weights_alone ? 1e-5 : 0.05));
    const Tensor gradient =
        tape.gradient(y, x, {.output_gradients = std::vector<Tensor>{upstream}});
    CHECK(distance(gradient, ops::matmul(upstream, ops::transpose(kernel))) < 1e-5);
  }
}

TEST_CASE("an EinsumDense whose axes are elided is quantized, too") {
  const Tensor x = numbers({2, 3, 4, 5});
  for (const std::pair<std::string, std::string> made :
       {std::pair{"...x,xy->...y", "y"}, {"ab...,bc->ac...", "c"}, {"...xy,yx->...x", "x"}}) {
    const std::string& equation = made.first;
    CAPTURE(equation);
    const Shape shape = equation[0] == 'a'       ? Shape{6}
                        : equation.back() == 'x' ? Shape{4}
                                                 : Shape{6};
    const layers::EinsumDense dense(
        {.equation = equation, .output_shape = shape, .bias_axes = made.second});
    const Tensor before = dense(x);
    dense.quantize("int8");
    CHECK(distance(dense(x), before) < 0.03);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = dense(x);
    CHECK(tape.gradient(y, x).shape() == x.shape());
    dense.enable_lora({.rank = 2, .b_initializer = "ones"});
    CHECK(distance(dense(x), before) > 0.1);
    CHECK(contains(error_of([&] { dense(numbers({2, 4, 5})); }), "as it was built for"));
  }
}

TEST_CASE("an EinsumDense may sum over an axis that its kernel hasn't") {
  const layers::EinsumDense layer({.equation = "abc,cd->ad", .output_shape = {3}});
  const Tensor x = numbers({2, 5, 4});
  const Tensor plain = layer(x);
  const auto gradient = [&] {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(ops::sum(ops::square(layer(x))), x);
  };
  const Tensor expected = gradient();
  layer.quantize("int8");
  CHECK(distance(layer(x), plain) < 0.1);
  REQUIRE(gradient().shape() == x.shape());
  CHECK(distance(gradient(), expected) < 0.5);
  CHECK(function([&](const Tensor& in) { return layer(in); })(x).single().shape() == Shape{2, 3});
}

TEST_CASE("a model whose layers can't all be quantized stays as it is") {
  const auto model = [] {
    return Sequential(Input({.shape = {3, 4}}),
                      {layers::Dense({.units = 4}),
                       layers::EinsumDense({.equation = "abc,cd->ad", .output_shape = {3}}),
                       layers::EinsumDense({.equation = "ab,cb->ac", .output_shape = {2}})});
  };
  Sequential kept = model();
  const Tensor x = numbers({2, 3, 4});
  const Tensor before = kept(x);
  // With this axis, the scales of the last kernel would have another shape.
  CHECK(contains(error_of([&] {
                   kept.quantize({.config = Int8QuantizationConfig{
                                      .weight_quantizer = AbsMaxQuantizer({.axis = {0}})}});
                 }),
                 "expected a weight_quantizer that gives scales of shape"));
  CHECK(distance(kept(x), before) == 0);
  for (const Variable& weight : kept.weights()) CHECK(weight.dtype() == DType::Float32);
  kept.quantize("int8");
  CHECK(distance(kept.predict(x, {.verbose = 0}).single(), kept(x)) < 1e-5);
}

TEST_CASE("weights aren't replaced within a trace") {
  const layers::Dense dense({.units = 2});
  const Tensor x = numbers({3, 4});
  const Tensor before = dense(x);
  CHECK(contains(error_of([&] {
                   function([&](const Tensor& in) {
                     dense.quantize("int8");
                     return dense(in);
                   })(x);
                 }),
                 "quantize replaces weights, which a function that is traced can't"));
  CHECK(distance(dense(x), before) == 0);
}

TEST_CASE("a model's quantize: which layers, and what it goes on with") {
  const Tensor x = numbers({4, 6});
  Sequential model = dense_model();
  model.compile(
      {.optimizer = optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9}), .loss = "mse"});
  model.fit(x, numbers({4, 2}), {.verbose = 0});
  const Tensor before = model.predict(x, {.verbose = 0});
  SUBCASE("all") {
    model.quantize("int8");
    CHECK(model.compiled());
    const Tensor after = model.predict(x, {.verbose = 0});
    CHECK(distance(after, before) > 0);
    CHECK(distance(after, before) < 0.05);
    CHECK(distance(model(x), after) < 1e-6);
  }
  SUBCASE("by their names") {
    model.quantize({.mode = "int8", .filters = "^la"});
    CHECK(model.get_layer("first").weight("kernel").dtype() == DType::Float32);
    CHECK(model.get_layer("last").weight("kernel").dtype() == DType::Int8);
    model.quantize({.mode = "int8", .filters = {"nothing", "fir.t"}});
    CHECK(model.get_layer("first").weight("kernel").dtype() == DType::Int8);
  }
  SUBCASE("by a function") {
    model.quantize({.mode = "int8",
                    .filters = [](const LayerHandle& layer) { return layer.name() == "first"; }});
    CHECK(model.get_layer("first").weight("kernel").dtype() == DType::Int8);
    CHECK(model.get_layer("last").weight("kernel").dtype() == DType::Float32);
  }
  SUBCASE("with a config") {
    model.quantize({.config = Int8QuantizationConfig{.activation_quantizer = {}}});
    const Json config = model.get_layer("last").get_config().at("quantization_config");
    CHECK(config.at("config").at("activation_quantizer").is_null());
    CHECK(distance(model.predict(x, {.verbose = 0}), before) < 0.02);
  }
  SUBCASE("training goes on with what remains") {
    model.quantize("int8");
    const LayerHandle last = model.get_layer("last");
    const Tensor kernel = last.weight("kernel"), scale = last.weight("kernel_scale");
    const Tensor bias = last.weight("bias");
    model.fit(x, numbers({4, 2}), {.epochs = 2, .verbose = 0});
    CHECK(distance(last.weight("kernel"), kernel) == 0);
    CHECK(distance(last.weight("kernel_scale"), scale) == 0);
    CHECK(distance(last.weight("bias"), bias) > 0);
  }
}

TEST_CASE("layers within layers are quantized") {
  const Tensor x = numbers({2, 3, 4});
  const Tensor input = Input({.shape = {3, 4}});
  const Sequential inner(Input({.shape = {3, 4}}), {layers::Dense({.units = 4})});
  Tensor y = LayerHandle(inner)(input);
  y = layers::MultiHeadAttention({.num_heads = 2, .key_dim = 3})({y, y});
  y = layers::TimeDistributed(layers::Dense({.units = 2}))(y);
  Model model(input, y);
  const Tensor before = model.predict(x, {.verbose = 0});
  model.quantize("int8");
  int int8 = 0;
  for (const Variable& weight : model.weights()) int8 += weight.dtype() == DType::Int8 ? 1 : 0;
  CHECK(int8 == 6);
  const Tensor after = model.predict(x, {.verbose = 0});
  CHECK(distance(after, before) > 0);
  CHECK(distance(after, before) < 0.05);
  const test::Scratch scratch;
  CHECK(
      contains(error_of([&] { model.save(scratch.path("model.keras")); }),
               "within it is quantized, which the config of the layer that has it doesn't record"));
  model.save_weights(scratch.path("model.weights.h5"));
  for (const Variable& weight : model.weights()) {
    weight.store(ops::zeros(weight.shape(), weight.dtype()));
  }
  model.load_weights(scratch.path("model.weights.h5"));
  CHECK(distance(model.predict(x, {.verbose = 0}), after) == 0);
}

TEST_CASE("quantized models in files") {
  const test::Scratch scratch;
  const Tensor x = numbers({4, 6});
  Sequential model = dense_model();
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.quantize("int8");
  model.fit(x, numbers({4, 2}), {.verbose = 0});
  const Tensor expected = model.predict(x, {.verbose = 0});

  model.save(scratch.path("model.keras"));
  Model back = load_model(scratch.path("model.keras"));
  CHECK(distance(back.predict(x, {.verbose = 0}), expected) == 0);
  CHECK(back.get_layer("first").weight("kernel").dtype() == DType::Int8);
  CHECK(back.compiled());

  model.save(scratch.path("model.h5"));
  Model legacy = load_model(scratch.path("model.h5"));
  CHECK(distance(legacy.predict(x, {.verbose = 0}), expected) == 0);

  model.save_weights(scratch.path("model.weights.h5"));
  Model clone = clone_model(model);
  CHECK(clone.get_layer("first").weight("kernel").dtype() == DType::Int8);
  clone.load_weights(scratch.path("model.weights.h5"));
  CHECK(distance(clone.predict(x, {.verbose = 0}), expected) == 0);

  Sequential later = dense_model();
  CHECK(contains(error_of([&] { later.load_weights(scratch.path("model.weights.h5")); }),
                 "expected 2 weights at 'layers/dense/vars', got 3. The file's layer is quantized: "
                 "it has integers for weights. Quantize the model in the same way, as by "
                 "quantize(\"int8\"), before it loads them."));
  later.save_weights(scratch.path("plain.weights.h5"));
  CHECK(contains(error_of([&] { model.load_weights(scratch.path("plain.weights.h5")); }),
                 "expected 3 weights at 'layers/dense/vars', got 2. The model's layer is "
                 "quantized, the file's isn't. Load the weights before the model is quantized."));
  later.quantize("int8");
  later.load_weights(scratch.path("model.weights.h5"));
  CHECK(distance(later.predict(x, {.verbose = 0}), expected) == 0);

  Checkpoint checkpoint({{"model", model}});
  const std::string path = checkpoint.save(scratch.path("ckpt"));
  Sequential restored = dense_model();
  restored.quantize("int8");
  Checkpoint({{"model", restored}}).restore(path);
  CHECK(distance(restored.predict(x, {.verbose = 0}), expected) == 0);
}

TEST_CASE("LoRA adapts int8 weights, and files have both as int8") {
  const test::Scratch scratch;
  const Tensor x = numbers({4, 6});
  layers::Dense dense({.units = 5, .name = "adapted"});
  Sequential adapted(Input({.shape = {6}}), {dense, layers::Dense({.units = 2})});
  adapted.quantize("int8");
  const Tensor kernel = dense.kernel();
  dense.enable_lora({.rank = 2});
  CHECK(names(dense.trainable_weights()) == Names{"bias", "lora_kernel_a", "lora_kernel_b"});
  adapted.compile({.optimizer = optimizers::SGD({.learning_rate = 0.2}), .loss = "mse"});
  const double loss = adapted.evaluate(x, numbers({4, 2}), {.verbose = 0}).at("loss");
  adapted.fit(x, numbers({4, 2}), {.epochs = 20, .verbose = 0});
  CHECK(adapted.evaluate(x, numbers({4, 2}), {.verbose = 0}).at("loss") < 0.7 * loss);
  CHECK(distance(dense.kernel(), kernel) == 0);
  const Tensor expected = adapted.predict(x, {.verbose = 0});
  adapted.save(scratch.path("adapted.keras"));
  Model back = load_model(scratch.path("adapted.keras"));
  CHECK(back.layers()[0].get_config().at("lora_rank") == Json(2));
  CHECK(back.layers()[0].weight("kernel").dtype() == DType::Int8);
  CHECK(distance(back.layers()[0].weight("kernel"), kernel) > 0);
  CHECK(distance(back.predict(x, {.verbose = 0}), expected) < 0.05);
  // Quantizing an adapted layer leaves the small matrices as they are.
  layers::Dense other({.units = 2, .lora_rank = 1});
  other.build({4, 6});
  other.weight("lora_kernel_b").store(numbers({1, 2}));
  const Tensor before = other(x);
  other.quantize("int8");
  CHECK(names(other.trainable_weights()) == Names{"bias", "lora_kernel_a", "lora_kernel_b"});
  CHECK(distance(other(x), before) < 0.05);
}

TEST_CASE("quantizers of one's own") {
  struct Halves : QuantizerImpl {
    Quantized operator()(const Tensor& x, const OptionalList<int64_t>&) const override {
      return {ops::cast(ops::round(x * 2), DType::Int8), ops::full({1, x.dim(1)}, 2.0F)};
    }
    std::string class_name() const override { return "tests>Halves"; }
  };
  register_serializable("tests>Halves", [](const Json&) { return Quantizer(Halves()); });
  const Int8QuantizationConfig config{.weight_quantizer = Halves(), .activation_quantizer = {}};
  const layers::Dense dense({.units = 3});
  const Tensor x = numbers({2, 4});
  dense(x);
  dense.set_weights({numbers({4, 3}), ops::zeros({3})});
  dense.quantize({.config = config});
  CHECK(distance(dense(x), ops::matmul(x, ops::round(numbers({4, 3}) * 2) / 2)) < 1e-6);
  const LayerHandle again = layer_from_json(serialize_layer(dense.get()));
  again.build({2, 4});
  again.set_weights(dense.get_weights());
  CHECK(distance(again(x), dense(x)) == 0);

  const layers::Dense wrong({.units = 3, .name = "wrong"});
  wrong.build({2, 4});
  CHECK(contains(error_of([&] {
                   wrong.quantize({.config = Int8QuantizationConfig{
                                       .weight_quantizer = AbsMaxQuantizer({.axis = {1}})}});
                 }),
                 "expected a weight_quantizer that gives scales of shape (1, 3), got (4, 1)"));
  CHECK(wrong.kernel().dtype() == DType::Float32);
  CHECK(contains(error_of([&] {
                   wrong.quantize({.config = Int8QuantizationConfig{
                                       .weight_quantizer = AbsMaxQuantizer(
                                           {.axis = {0}, .output_dtype = "int32"})}});
                 }),
                 "expected a weight_quantizer that makes int8 of shape (4, 3), got int32"));
  CHECK(contains(error_of([] {
                   AbsMaxQuantizer({.value_range = {-129, 3}});
                 }),
                 "expected a value_range within (-128, 127) for int8, got (-129, 3)"));
}

TEST_CASE("what can't be quantized, and how, is said") {
  const layers::Dense dense({.units = 2, .name = "dense"});
  CHECK(error_of([&] { dense.quantize("int8"); }) ==
        "FailedPrecondition: Dense 'dense': quantize needs its weights. Call the layer first, or "
        "build it for the shape of its input.");
  dense.build({3, 4});
  CHECK(error_of([&] { dense.quantize("int9"); }) ==
        "InvalidArgument: Dense 'dense': quantize expected the mode \"int8\" or \"int4\", got "
        "\"int9\". Did you mean 'int8' or 'int4'? Known: int8, float8, int4, gptq, awq.");
  for (const char* mode : {"float8", "gptq", "awq"}) {
    CHECK(error_of([&] { dense.quantize(mode); }) ==
          fmt::format("Unimplemented: Dense 'dense': quantize expected the mode \"int8\" or "
                      "\"int4\", which alone are available here, got \"{}\".",
                      mode));
  }
  CHECK(error_of([&] { dense.quantize({.mode = "int4", .config = Int8QuantizationConfig()}); }) ==
        "InvalidArgument: Dense 'dense': quantize expected one mode, got \"int4\" with a config of "
        "int8. Omit one of them.");
  CHECK(error_of([&] { dense.quantize({}); }) ==
        "InvalidArgument: Dense 'dense': quantize expected a mode or a config, got none. Call "
        "quantize(\"int8\").");
  CHECK(contains(error_of([&] { dense.quantize({.mode = "int8", .filters = "a"}); }),
                 "Dense 'dense': filters choose among a model's layers."));
  dense.quantize("int8");
  CHECK(error_of([&] { dense.quantize("int8"); }) ==
        "FailedPrecondition: Dense 'dense' is already quantized, with dtype policy "
        "int8_from_float32. That can be done only once.");
  const layers::Flatten flatten;
  flatten(numbers({2, 3}));
  CHECK(contains(error_of([&] { flatten.quantize("int8"); }),
                 "has no weights that can be quantized. Dense, EinsumDense, Embedding and "
                 "ReversibleEmbedding have some."));
  const layers::Dense half({.units = 2, .dtype = "mixed_float16"});
  half.build({3, 4});
  CHECK(contains(error_of([&] { half.quantize("int8"); }),
                 "int8 doesn't go with layers that compute in float16."));
  CHECK(contains(error_of([] { layers::Dense({.units = 2, .dtype = "int8_from_mixed_float16"}); }),
                 "Dtype policy 'int8_from_mixed_float16': int8 doesn't go with this policy."));
  CHECK(contains(error_of([] { layers::Dense({.units = 2, .dtype = "float8_from_float32"}); }),
                 "Dtype policy 'float8_from_float32': expected int8 or int4, such as int8_from_f"));
  CHECK(contains(error_of([] {
                   layers::Flatten({.dtype = kInt8})(numbers({2, 3}));
                 }),
                 "its dtype policy int8_from_float32 is for layers with weights that can be"));
  CHECK(contains(error_of([] { LayerFilter("("); }), "filters: expected a regular expression"));
  const layers::Dense long_name({.units = 2, .name = std::string(200'000, 'a')});
  CHECK_FALSE(LayerFilter("^(a|b)*c").takes(long_name));
  CHECK(LayerFilter({"no", "a{3}"}).takes(long_name));
  CHECK(contains(error_of([] { AbsMaxQuantizer({.output_dtype = "uint8"}); }),
                 "expected a value_range within (0, 255) for uint8, got (-127, 127)"));

  Sequential model({layers::Dense({.units = 2})}, {.name = "model"});
  CHECK(contains(error_of([&] { model.quantize("int8"); }),
                 "Sequential 'model': quantize needs its weights."));
  // If one layer can't be quantized, none is changed.
  Sequential mixed = dense_model();
  mixed.quantize({.mode = "int8", .filters = "last"});
  CHECK(contains(error_of([&] { mixed.quantize("int8"); }), "Dense 'last' is already quantized"));
  CHECK(mixed.get_layer("first").weight("kernel").dtype() == DType::Float32);
}

}  // namespace
}  // namespace cornu
