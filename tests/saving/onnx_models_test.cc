// SPDX-License-Identifier: Apache-2.0
// Whole models in onnxruntime.
#include <doctest/doctest.h>

#include <utility>

#include "applications/applications.h"
#include "framework/core/random.h"
#include "framework/model/dtype_policy.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/saving/onnx_cases.h"

namespace cornu::test {
namespace {

Tensor words(const Shape& shape, int64_t count) {
  return random::randint(shape, 0, count, {.seed = 4});
}

// Changes the weights as training would: statistics that aren't 0 and 1.
void stir(Model& model) {
  int64_t seed = 10;
  for (const Variable& weight : model.weights()) {
    if (!is_floating(weight.dtype())) continue;
    weight.assign(ops::abs(numbers(weight.shape(), ++seed)) * 0.2 + 0.1);
  }
}

std::vector<std::string> paths_of(const Model& model) {
  std::vector<std::string> paths;
  for (const Variable& weight : model.weights()) paths.push_back(weight.path());
  return paths;
}

Model network() {
  return Sequential({Input({.shape = {6}}), layers::Dense({.units = 5, .activation = "relu"}),
                     layers::Dense({.units = 3, .activation = "softmax"})});
}

Model convolutional() {
  return Sequential({
      Input({.shape = {12, 10, 3}}),
      layers::Conv2D({.filters = 4, .kernel_size = 3, .activation = "relu"}),
      layers::BatchNormalization(),
      layers::MaxPooling2D(),
      layers::Conv2D({.filters = 6, .kernel_size = 3, .padding = "same"}),
      layers::ReLU(),
      layers::GlobalAveragePooling2D(),
      layers::Dense({.units = 3}),
  });
}

Model residual() {
  const Tensor x = Input({.shape = {9, 9, 2}});
  Tensor y = layers::Conv2D({.filters = 4, .kernel_size = 3, .padding = "same"})(x);
  for (int i = 0; i < 2; ++i) {
    Tensor z = layers::ReLU()(layers::BatchNormalization()(y));
    z = layers::DepthwiseConv2D({.kernel_size = 3, .padding = "same"})(z);
    y = layers::add({y, layers::Conv2D({.filters = 4, .kernel_size = 1})(z)});
  }
  y = layers::Conv2DTranspose({.filters = 2, .kernel_size = 3, .strides = 2, .padding = "same"})(y);
  return Model(x, layers::Flatten()(y));
}

// For sequences of any length.
Model transformer(int64_t length) {
  const Tensor tokens = Input({.shape = {length}, .dtype = DType::Int32, .name = "tokens"});
  Tensor x = layers::Embedding({.input_dim = 11, .output_dim = 8, .mask_zero = true})(tokens);
  const Json causal = Json::object({{"use_causal_mask", true}});
  const Tensor attended =
      layers::MultiHeadAttention({.num_heads = 2, .key_dim = 4})({x, x}, {.settings = causal});
  x = layers::LayerNormalization()(layers::add({x, attended}));
  const Tensor wide = layers::Dense({.units = 12, .activation = "gelu"})(x);
  x = layers::LayerNormalization()(layers::add({x, layers::Dense({.units = 8})(wide)}));
  return Model(tokens, layers::Dense({.units = 3})(layers::GlobalAveragePooling1D()(x)));
}

Model recurrent(int64_t length) {
  const Tensor tokens = Input({.shape = {length}, .dtype = DType::Int32, .name = "tokens"});
  const Tensor x = layers::Embedding({.input_dim = 11, .output_dim = 4, .mask_zero = true})(tokens);
  const Tensor plain = layers::Embedding({.input_dim = 11, .output_dim = 4})(tokens);
  const Tensor masked = layers::LSTM({.units = 3})(x);
  const Tensor both =
      layers::Bidirectional(layers::LSTM({.units = 3, .return_sequences = true}))(plain);
  const Tensor gated = layers::GRU({.units = 4, .go_backwards = true})(both);
  return Model(tokens, {masked, gated, layers::SimpleRNN({.units = 2})(x)});
}

Model of_several() {
  const Tensor picture = Input({.shape = {6, 6, 2}, .name = "picture"});
  const Tensor hint = Input({.shape = {4}, .name = "hint"});
  Model inner = network();
  const Tensor seen = layers::Flatten()(layers::AveragePooling2D()(picture));
  const Tensor both = layers::concatenate({seen, hint});
  const Tensor six = layers::Dense({.units = 6, .name = "six"})(both);
  return Model({picture, hint}, {Tensor(inner(six)), six, Tensor(inner(six * 2))});
}

// For images of any size.
Model of_any_size() {
  const Tensor x = Input({.shape = {kUnknown, kUnknown, 3}});
  Tensor y = layers::Conv2D({.filters = 4, .kernel_size = 3, .padding = "same"})(x);
  y = layers::MaxPooling2D()(y);
  y = layers::Conv2D({.filters = 3, .kernel_size = 3, .strides = 2, .activation = "relu"})(y);
  return Model(x, layers::GlobalAveragePooling2D()(y));
}

// The same, with padding that depends on the remainder of the size.
Model padded_by_size() {
  const Tensor x = Input({.shape = {kUnknown, kUnknown, 3}});
  Tensor y = layers::Conv2D({.filters = 4, .kernel_size = 4, .strides = 3, .padding = "same"})(x);
  y = layers::MaxPooling2D({.pool_size = 3, .strides = 2, .padding = "same"})(y);
  y = layers::DepthwiseConv2D({.kernel_size = 3, .strides = 2, .padding = "same"})(y);
  y = layers::AveragePooling2D({.padding = "same"})(y);
  return Model(x, {y, Tensor(layers::GlobalMaxPooling2D()(y))});
}

class Doubled : public Model {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override {
    return dense_(x) * 2 + ops::cast(x.dim(0), DType::Float32);
  }
  Tensors predict_step(const Batch& batch) override {
    return Tensors::named({{"score", ops::sigmoid((*this)(batch.x, {.training = false}))}});
  }

 private:
  layers::Dense dense_{{.units = 2}};
};

TEST_CASE("models of several kinds in onnxruntime") {
  set_random_seed(3);
  OnnxCases cases;
  Model dense = network();
  const std::vector<Tensors> rows = {numbers({1, 6}), numbers({4, 6}), numbers({33, 6})};
  cases.add({.name = "dense",
             .weights = paths_of(dense),
             .operators = {"MatMul", "Add", "Relu", "MatMul", "Add", "Softmax"}},
            dense, rows);

  Model convolution = convolutional();
  stir(convolution);
  const std::vector<std::string> paths = paths_of(convolution);
  // The only transposes are at the input; none is needed to go back.
  cases.add({.name = "convolutional",
             .weights = {paths.front(), paths.back(), paths[6], paths[7]},
             .operators = {"Transpose", "Conv", "Relu", "Mul", "Add", "MaxPool", "Conv", "Relu",
                           "ReduceSum", "Div", "MatMul", "Add"}},
            convolution, {numbers({1, 12, 10, 3}), numbers({5, 12, 10, 3})});

  Model skipping = residual();
  stir(skipping);
  cases.add({.name = "residual"}, skipping, {numbers({1, 9, 9, 2}), numbers({3, 9, 9, 2})});

  for (const int64_t length : {int64_t{7}, kUnknown}) {
    const std::vector<Tensors> texts = {words({3, 7}, 11), words({1, 7}, 11)};
    Model attending = transformer(length);
    cases.add({.name = fmt::format("transformer of length {}", length)}, attending, texts);
    Model looping = recurrent(length);
    cases.add({.name = fmt::format("recurrent of length {}", length)}, looping, texts);
    cases.add({.name = "recurrent of a signature", .open_batch = false}, looping,
              {words({3, 7}, 11)}, {.input_signature = {{.shape = {3, 7}}}});
  }
  Model attending = transformer(kUnknown);
  cases.add({.name = "transformer of several lengths"}, attending,
            {words({2, 1}, 11), words({2, 5}, 11), words({3, 40}, 11)});
  Model looping = recurrent(kUnknown);
  cases.add({.name = "recurrent of several lengths"}, looping,
            {words({2, 1}, 11), words({2, 5}, 11), words({3, 40}, 11)});

  Model several = of_several();
  cases.add({.name = "of several"}, several,
            {Tensors({numbers({1, 6, 6, 2}), numbers({1, 4})}),
             Tensors({numbers({3, 6, 6, 2}), numbers({3, 4})})});
  Model any_size = of_any_size();
  cases.add({.name = "of any size"}, any_size,
            {numbers({1, 9, 12, 3}), numbers({3, 12, 17, 3}), numbers({2, 30, 31, 3})});
  Model padded = padded_by_size();
  std::vector<Tensors> pictures;
  for (int64_t size = 1; size < 40; size += 5) pictures.push_back(numbers({2, size, 50 - size, 3}));
  cases.add({.name = "padded by size"}, padded, pictures);
  CHECK(cases.check());
}

// Sets statistics for which the outputs aren't close to 0.
void draw_statistics(const Model& model, double scale) {
  int64_t seed = 10;
  for (const Variable& weight : model.weights()) {
    if (weight.rank() != 1) continue;
    const Tensor drawn = numbers(weight.shape(), ++seed);
    const bool variance = weight.name() == "moving_variance";
    weight.assign(variance ? ops::abs(drawn) * 0.05 + 0.02 : drawn * scale);
  }
}

TEST_CASE("MobileNetV2 in onnxruntime") {
  set_random_seed(3);
  OnnxCases cases;
  Model model = applications::MobileNetV2({.input_shape = {64, 64, 3},
                                           .alpha = 0.35,
                                           .include_top = false,
                                           .weights = nullptr,
                                           .pooling = "avg"});
  draw_statistics(model, 0.5);
  const std::vector<Tensors> pictures = {numbers({1, 64, 64, 3}), numbers({3, 64, 64, 3})};
  CHECK(ops::std(model.predict_on_batch(pictures[1])).item<double>() > 0.05);
  cases.add({.name = "MobileNetV2"}, model, pictures);
  CHECK(cases.check());
}

TEST_CASE("ResNet50 in onnxruntime") {
  set_random_seed(3);
  OnnxCases cases;
  Model model = applications::ResNet50(
      {.include_top = false, .weights = nullptr, .input_shape = {32, 32, 3}, .pooling = "avg"});
  cases.add({.name = "ResNet50"}, model, {numbers({2, 32, 32, 3})});
  CHECK(cases.check());
}

TEST_CASE("all versions of the operator set") {
  set_random_seed(3);
  OnnxCases cases;
  for (int64_t version = 18; version <= 23; ++version) {
    Model convolution = convolutional();
    cases.add({.name = fmt::format("convolutional, {}", version)}, convolution,
              {numbers({2, 12, 10, 3})}, {.opset_version = version});
    Model looping = recurrent(kUnknown);
    cases.add({.name = fmt::format("recurrent, {}", version)}, looping, {words({2, 5}, 11)},
              {.opset_version = version});
  }
  CHECK(cases.check());
}

// The function and weights don't depend on the policy's dtype.
Model with_policy(const char* policy) {
  set_random_seed(3);
  const Tensor x = Input({.shape = {8, 8, 2}, .dtype = DType::Float32});
  const std::string dtype = policy;
  Tensor y = layers::Conv2D({.filters = 4, .kernel_size = 3, .dtype = dtype})(x);
  y = layers::BatchNormalization({.dtype = dtype})(y);
  y = layers::Activation({.activation = "relu", .dtype = dtype})(y);
  y = layers::Reshape({.target_shape = {6, 24}, .dtype = dtype})(y);
  y = layers::MultiHeadAttention({.num_heads = 2, .key_dim = 3, .dtype = dtype})({y, y});
  y = layers::LSTM({.units = 3, .dtype = dtype})(y);
  return Model(x, layers::Dense({.units = 2, .dtype = dtype})(y));
}

TEST_CASE("other dtypes in onnxruntime") {
  OnnxCases cases;
  const std::vector<Tensors> pictures = {numbers({1, 8, 8, 2}), numbers({3, 8, 8, 2})};
  Model exact = with_policy("float32");
  std::vector<Tensors> expected;
  for (const Tensors& x : pictures) expected.push_back(exact.predict_on_batch(x));
  // bfloat16 is exported as float32.
  Model wide = with_policy("mixed_bfloat16");
  cases.add_expecting({.name = "mixed_bfloat16", .weights = {wide.weights()[0].path()}}, wide,
                      pictures, expected);
  Model narrow = with_policy("mixed_float16");
  cases.add({.name = "mixed_float16", .tolerance = 5e-3}, narrow, pictures);
  CHECK(cases.check());
}

// Loops over slices, for a number of iterations and until a condition holds, and branches.
class Looping : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override {
    const Tensor turned = ops::fori_loop(
        0, 3,
        [&](const Tensor& i, const Tensor& y) { return y * 0.5 + x * ops::cast(i, x.dtype()); }, x);
    const Tensor total = ops::sum(ops::abs(x));
    const auto small = [&](const std::vector<Tensor>& v) { return ops::less(v[0], total * 4); };
    const auto grow = [](const std::vector<Tensor>& v) {
      return std::vector<Tensor>{v[0] * 2 + 1, v[1] + 1};
    };
    const std::vector<Tensor> grown = ops::while_loop(small, grow, {Tensor(0.5F), Tensor(0)}, 20);
    const Tensor sums = ops::scan(
                            [](const Tensor& carry, const Tensor& row) {
                              const Tensor sum = carry + row;
                              return std::pair(sum, sum * 2);
                            },
                            ops::zeros({x.dim(1)}), x, {.reverse = true})
                            .second;
    const Tensor halves =
        ops::scan([](const Tensor& carry, const Tensor&) { return std::pair(carry * 0.5, carry); },
                  x, Tensor(), {.length = x.dim(0), .reverse = true})
            .second;
    const Tensor chosen = ops::cond(
        total > 10, [&] { return x * 2; }, [&] { return x - 1; });
    return turned + sums + ops::sum(halves * halves, 1) + chosen + grown[0] +
           ops::cast(grown[1], x.dtype());
  }
};

TEST_CASE("weights in a file of their own") {
  using List = std::vector<std::string>;
  set_random_seed(3);
  OnnxCases cases;
  Model dense = network();
  const List paths = paths_of(dense);
  const std::vector<Tensors> rows = {numbers({4, 6})};
  cases.add({.name = "all of them", .external = paths}, dense, rows,
            {.save_as_external_data = true, .size_threshold = 1});
  // Kernels of 120 and 60 bytes, biases of 20 and 12.
  cases.add({.name = "of 60 bytes and more", .external = List{paths[0], paths[2]}}, dense, rows,
            {.save_as_external_data = true, .size_threshold = 60});
  cases.add({.name = "of 61 bytes and more", .external = List{paths[0]}}, dense, rows,
            {.save_as_external_data = true, .size_threshold = 61});
  cases.add({.name = "none is large enough", .external = List{}}, dense, rows,
            {.save_as_external_data = true});
  cases.add({.name = "not asked for", .external = List{}}, dense, rows, {.size_threshold = 1});
  Model convolution = convolutional();
  stir(convolution);
  cases.add({.name = "of a convolutional model", .external = List{paths_of(convolution)[6]}},
            convolution, {numbers({5, 12, 10, 3})},
            {.save_as_external_data = true, .size_threshold = 800});
  CHECK(cases.check());
}

TEST_CASE("loops and branches in onnxruntime") {
  OnnxCases cases;
  Model model = Sequential({Input({.shape = {4}}), make_layer<Looping>()});
  cases.add({.name = "loops"}, model,
            {numbers({1, 4}) * 0.1, numbers({2, 4}), numbers({7, 4}), numbers({9, 4}) * 10});
  CHECK(cases.check());
}

TEST_CASE("a subclass's predict_step in onnxruntime") {
  set_random_seed(3);
  OnnxCases cases;
  const auto model = make_layer<Doubled>();
  Model handle = *model;
  handle.predict_on_batch(numbers({2, 4}));
  cases.add({.name = "subclass", .open_batch = false}, handle, {numbers({3, 4})},
            {.input_signature = {{.shape = {3, 4}, .name = "given"}}});
  cases.add({.name = "subclass of any batch"}, handle, {numbers({3, 4}), numbers({1, 4})},
            {.input_signature = {{.shape = {kUnknown, 4}}}});
  CHECK(cases.check());
}

}  // namespace
}  // namespace cornu::test
