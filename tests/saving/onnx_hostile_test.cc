// SPDX-License-Identifier: Apache-2.0
// Whatever names and sizes a model has, onnx's checker and onnxruntime accept its file.
#include <doctest/doctest.h>

#include <random>
#include <utility>

#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/saving/onnx_cases.h"

namespace cornu::test {
namespace {

// Names that are written to files: they might end a text, have a special meaning, or be in use
// already.
const std::vector<std::string> kNames = {
    "a 'quoted' \"name\"",
    "back\\slash",
    "two\nlines\tand a tab",
    "über-größe",
    "漢字",
    "😀",
    "%s{}{0}$PATH",
    "<&>;--",
    " ",
    ".",
    "batch",
    "constant",
    "scalar",
    "integers",
    "x_1",
    std::string(5000, 'n'),
};

// Returns outputs with odd names.
class Named : public Model {
 public:
  explicit Named(std::vector<std::string> names) : names_(std::move(names)) {}
  Tensor call(const Tensor& x, const CallArgs&) override { return x * 2; }
  Tensors predict_step(const Batch& batch) override {
    const Tensor y = (*this)(batch.x, {.training = false});
    std::vector<Tensors::Named> outputs;
    for (const std::string& name : names_) {
      outputs.emplace_back(name, y + static_cast<double>(outputs.size()));
    }
    return Tensors::named(std::move(outputs));
  }

 private:
  std::vector<std::string> names_;
};

TEST_CASE("odd names of layers, inputs and outputs") {
  OnnxCases cases;
  for (const std::string& name : kNames) {
    const Tensor x = Input({.shape = {kUnknown, 3}, .name = name});
    Tensor y = layers::Dense({.units = 4, .name = name + "1"})(x);
    y = layers::LSTM({.units = 2, .return_sequences = true, .name = name + "2"})(y);
    y = layers::Conv1D({.filters = 2, .kernel_size = 1, .name = name + "3"})(y);
    Model model(x, y, {.name = name});
    cases.add({.name = "names like " + name.substr(0, 20)}, model,
              {numbers({1, 2, 3}), numbers({3, 4, 3})});
  }
  const auto named = make_layer<Named>(kNames);
  Model handle = *named;
  handle.predict_on_batch(numbers({2, 4}));
  for (const std::string& name : kNames) {
    cases.add({.name = "a signature of " + name.substr(0, 20)}, handle, {numbers({3, 4})},
              {.input_signature = {{.shape = {kUnknown, 4}, .name = name}}});
  }
  CHECK(cases.check());
}

TEST_CASE("inputs of one name, of axes of their own") {
  OnnxCases cases;
  Model model = [] {
    const Tensor a = Input({.shape = {kUnknown, 3}, .name = "a"});
    const Tensor b = Input({.shape = {kUnknown, 3}, .name = "b"});
    return Model({a, b}, {Tensor(layers::GlobalAveragePooling1D()(a)),
                          Tensor(layers::GlobalMaxPooling1D()(b))});
  }();
  cases.add({.name = "twice the same name"}, model,
            {Tensors({numbers({2, 4, 3}), numbers({2, 6, 3})})},
            {.input_signature = {{.shape = {kUnknown, kUnknown, 3}, .name = "same"},
                                 {.shape = {kUnknown, kUnknown, 3}, .name = "same"}}});
  CHECK(cases.check());
}

// Empty values on the way to one that has elements.
class Empty : public Layer {
 public:
  void build(const Shape&) override {
    none_ = add_weight({.shape = {0, 3}, .initializer = "zeros", .name = "none"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override {
    const Tensor nothing = ops::slice_axis(x, 1, 0, 0);
    const Tensor zeros = ops::matmul(nothing, none_.value());
    const Tensor sums = ops::sum(nothing, 1, true);
    return ops::concatenate({x, nothing, zeros, sums, ops::relu(nothing)}, 1);
  }

 private:
  Variable none_;
};

TEST_CASE("axes of no elements") {
  OnnxCases cases;
  Model inside = Sequential({Input({.shape = {4}}), make_layer<Empty>()});
  cases.add({.name = "weights without elements", .weights = {inside.weights()[0].path()}}, inside,
            {numbers({1, 4}), numbers({3, 4})});
  cases.add({.name = "without elements beside it"}, inside, {numbers({2, 4})},
            {.save_as_external_data = true, .size_threshold = 0});
  const Tensor x = Input({.shape = {0, 3}, .name = "x"});
  Model outside(x, layers::Concatenate({.axis = 1})({x, x}));
  cases.add({.name = "an input without elements"}, outside, {numbers({2, 0, 3})});
  Model dense = Sequential({Input({.shape = {4}}), layers::Dense({.units = 2}),
                            layers::Dense({.units = 3, .activation = "softmax"})});
  cases.add({.name = "a batch of no rows"}, dense, {numbers({0, 4}), numbers({1, 4})});
  CHECK(cases.check());
}

// A model with a few random layers, with random sizes and names.
Model by_chance(std::mt19937& draw) {
  const auto below = [&draw](int64_t count) { return static_cast<int64_t>(draw()) % count; };
  const auto name = [&](int64_t number) {
    return fmt::format("{}{}", kNames[static_cast<size_t>(below(std::ssize(kNames)))], number);
  };
  const Tensor x = Input({.shape = {below(2) == 0 ? kUnknown : 7, 4}, .name = name(0)});
  Tensor y = x;
  const int64_t count = 1 + below(5);
  for (int64_t i = 1; i <= count; ++i) {
    const int64_t units = 1 + below(4);
    switch (below(6)) {
      case 0:
        y = layers::Dense({.units = units, .activation = "relu", .name = name(i)})(y);
        break;
      case 1:
        y = layers::GRU({.units = units, .return_sequences = true, .name = name(i)})(y);
        break;
      case 2:
        y = layers::Conv1D(
            {.filters = units, .kernel_size = 3, .padding = "same", .name = name(i)})(y);
        break;
      case 3:
        y = layers::BatchNormalization({.name = name(i)})(y);
        break;
      case 4:
        y = layers::Concatenate({.name = name(i)})({y, y});
        break;
      default:
        y = layers::Masking({.name = name(i)})(y);
        y = layers::SimpleRNN({.units = units, .return_sequences = true, .name = name(i) + "r"})(y);
    }
  }
  return Model(x, y, {.name = name(-1)});
}

TEST_CASE("models by chance") {
  constexpr unsigned kSeed = 7;
  CAPTURE(kSeed);
  std::mt19937 draw(kSeed);
  OnnxCases cases;
  for (int i = 0; i < 40; ++i) {
    Model model = by_chance(draw);
    ExportOptions options{.opset_version = 18 + static_cast<int64_t>(draw() % 6)};
    if (draw() % 2 == 0) options.save_as_external_data = true;
    options.size_threshold = static_cast<int64_t>(draw() % 100);
    cases.add({.name = fmt::format("model {} of seed {}", i, kSeed)}, model,
              batches_of({numbers({3, 7, 4}, i)}), options);
  }
  CHECK(cases.check());
}

}  // namespace
}  // namespace cornu::test
