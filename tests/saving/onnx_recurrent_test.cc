// SPDX-License-Identifier: Apache-2.0
// Recurrent layers in onnxruntime: which operators they are exported as.
#include <doctest/doctest.h>

#include <functional>
#include <utility>

#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/saving/onnx_cases.h"

namespace cornu::test {
namespace {

using Loops = std::vector<std::string>;

// Sets weights and biases so that all of them matter.
void randomize(Model& model) {
  int64_t seed = 20;
  for (const Variable& weight : model.weights()) {
    if (is_floating(weight.dtype())) weight.assign(numbers(weight.shape(), ++seed) * 0.5);
  }
}

// A model with one layer over sequences, of `length` steps with 3 features.
Model model_of(const LayerHandle& layer, int64_t length, bool masked = false) {
  const Tensor x = Input({.shape = {length, 3}, .name = "x"});
  const Tensor given = masked ? Tensor(layers::Masking({.mask_value = 0.0})(x)) : x;
  Model model(x, layer(given), {.name = "m"});
  randomize(model);
  return model;
}

// Adds cases for sequences of known length, and of any length.
void add(OnnxCases& cases, const std::string& name, const LayerHandle& layer, const Loops& loops) {
  for (const int64_t length : {int64_t{5}, kUnknown}) {
    Model model = model_of(layer, length);
    std::vector<Tensors> batches = batches_of({numbers({3, 5, 3})});
    if (length == kUnknown) batches.push_back(numbers({2, 1, 3}));
    cases.add({.name = fmt::format("{}, {} steps", name, length), .loops = loops}, model, batches);
  }
}

// All ways to call a recurrent layer of this class.
template <class Kind, class Options>
void add_all_ways(OnnxCases& cases, const std::string& op, const Options& given) {
  const auto with = [&](const std::string& what, const auto& change, const Loops& loops) {
    Options options = given;
    change(options);
    add(cases, op + " " + what, Kind(options), loops);
  };
  with("alone", [](Options&) {}, {op});
  with("of all steps", [](Options& o) { o.return_sequences = true; }, {op});
  with("with its state", [](Options& o) { o.return_state = true; }, {op});
  with("with all", [](Options& o) { o.return_sequences = o.return_state = true; }, {op});
  with("backwards", [](Options& o) { o.go_backwards = true; }, {op});
  with("with all backwards",
       [](Options& o) { o.return_sequences = o.return_state = o.go_backwards = true; }, {op});
  with("without biases", [](Options& o) { o.use_bias = false; }, {op});
  with("of relu", [](Options& o) { o.activation = "relu"; }, {op});
  with("of elu", [](Options& o) { o.activation = "elu"; }, {"Scan"});
}

TEST_CASE("recurrent layers are ONNX's operators") {
  OnnxCases cases;
  add_all_ways<layers::LSTM>(cases, "LSTM", layers::LSTMOptions{.units = 4});
  add_all_ways<layers::GRU>(cases, "GRU", layers::GRUOptions{.units = 4});
  add_all_ways<layers::GRU>(cases, "GRU", layers::GRUOptions{.units = 4, .reset_after = false});
  add_all_ways<layers::SimpleRNN>(cases, "RNN", layers::SimpleRNNOptions{.units = 4});
  CHECK(cases.check());
}

TEST_CASE("both directions in onnxruntime") {
  OnnxCases cases;
  for (const char* mode : {"concat", "sum", "mul", "ave", ""}) {
    for (const bool all : {false, true}) {
      const auto name = [&](const char* op) { return fmt::format("{} of {} '{}'", op, all, mode); };
      add(cases, name("LSTM"),
          layers::Bidirectional(
              layers::LSTM({.units = 4, .return_sequences = all, .return_state = all}),
              {.merge_mode = mode}),
          {"LSTM", "LSTM"});
      add(cases, name("GRU"),
          layers::Bidirectional(layers::GRU({.units = 4, .return_sequences = all}),
                                {.merge_mode = mode}),
          {"GRU", "GRU"});
      add(cases, name("RNN"),
          layers::Bidirectional(layers::SimpleRNN({.units = 4, .return_sequences = all}),
                                {.merge_mode = mode}),
          {"RNN", "RNN"});
    }
  }
  CHECK(cases.check());
}

TEST_CASE("initial states in onnxruntime") {
  OnnxCases cases;
  const Tensor x = Input({.shape = {kUnknown, 3}, .name = "x"});
  const Tensor h = Input({.shape = {4}, .name = "h"});
  const Tensor c = Input({.shape = {4}, .name = "c"});
  const std::vector<Tensors> batches =
      batches_of({numbers({3, 5, 3}), numbers({3, 4}, 6), numbers({3, 4}, 7)});
  const Tensor long_term = layers::LSTM({.units = 4})({x, h, c});
  const Tensor gated = layers::GRU({.units = 4, .go_backwards = true})({x, h});
  const Tensor simple = layers::SimpleRNN({.units = 4, .return_sequences = true})({x, c});
  const Tensor both = layers::Bidirectional(layers::GRU({.units = 4}))({x, h, c});
  Model model({x, h, c}, {long_term, gated, simple, both});
  randomize(model);
  cases.add({.name = "given states", .loops = Loops{"LSTM", "GRU", "RNN", "GRU", "GRU"}}, model,
            batches);
  // Initial states from an encoder.
  const Tensors encoded = layers::LSTM({.units = 4, .return_state = true})(x);
  const Tensor decoded = layers::LSTM({.units = 4, .return_sequences = true})(
      {x, Tensor(encoded[1]), Tensor(encoded[2])});
  Model translating(x, decoded);
  randomize(translating);
  cases.add({.name = "an encoder's states", .loops = Loops{"LSTM", "LSTM"}}, translating,
            batches_of({numbers({3, 5, 3})}));
  CHECK(cases.check());
}

// Steps that are zero anywhere, even at the beginning, which sequence lengths can't express.
Tensor with_gaps() {
  const Tensor kept = Tensor::from({{1.0F, 1.0F, 0.0F, 1.0F, 0.0F},
                                    {0.0F, 1.0F, 1.0F, 1.0F, 1.0F},
                                    {1.0F, 0.0F, 0.0F, 0.0F, 0.0F}});
  return numbers({3, 5, 3}) * ops::expand_dims(kept, -1);
}

TEST_CASE("masked steps in onnxruntime") {
  OnnxCases cases;
  const std::vector<std::pair<LayerHandle, Loops>> layers = {
      {layers::LSTM({.units = 4}), {"Scan"}},
      {layers::LSTM({.units = 4, .return_sequences = true, .return_state = true}), {"Scan"}},
      {layers::GRU({.units = 4, .return_sequences = true, .zero_output_for_mask = true}), {"Scan"}},
      {layers::SimpleRNN({.units = 4, .return_sequences = true, .go_backwards = true}), {"Scan"}},
      {layers::Bidirectional(layers::LSTM({.units = 4, .return_sequences = true})),
       {"Scan", "Scan"}},
  };
  for (const auto& [layer, loops] : layers) {
    for (const int64_t length : {int64_t{5}, kUnknown}) {
      Model model = model_of(layer, length, true);
      cases.add({.name = fmt::format("masked {}, {} steps", layer.name(), length), .loops = loops},
                model, batches_of({with_gaps()}));
    }
  }
  CHECK(cases.check());
}

// A custom recurrent unit.
class OwnUnit : public Layer {
 public:
  using Step = std::function<Tensor(const Tensor& h, const Tensor& x, const Tensor& kernel)>;
  explicit OwnUnit(Step step) : step_(std::move(step)) {}

  void build(const Shape& shape) override {
    kernel_ = add_weight({.shape = {shape.back(), 4}, .name = "kernel"});
    recurrent_kernel_ = add_weight({.shape = {4, 4}, .name = "recurrent_kernel"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override {
    const Tensor kernel = recurrent_kernel_.value();
    const auto step = [&](const Tensor& h, const Tensor& slice) {
      const Tensor next = step_(h, slice, kernel);
      return std::pair(next, next);
    };
    const Tensor xs = ops::transpose(ops::matmul(x, kernel_.value()), {1, 0, 2});
    return ops::transpose(ops::scan(step, ops::zeros({x.dim(0), 4}), xs).second, {1, 0, 2});
  }

 private:
  Step step_;
  Variable kernel_;
  Variable recurrent_kernel_;
};

TEST_CASE("scans of programs in onnxruntime") {
  OnnxCases cases;
  const auto simple = [](const Tensor& h, const Tensor& x, const Tensor& kernel) {
    return ops::tanh(ops::matmul(h, kernel) + x);  // in the opposite order from SimpleRNN
  };
  add(cases, "an own unit that is a simple one", make_layer<OwnUnit>(simple), {"RNN"});
  const auto leaky = [](const Tensor& h, const Tensor& x, const Tensor& kernel) {
    return h * 0.5 + ops::tanh(ops::matmul(h, kernel) + x);
  };
  add(cases, "an own unit", make_layer<OwnUnit>(leaky), {"Scan"});
  add(cases, "a cell of its own", layers::RNN(layers::LSTMCell({.units = 4})), {"LSTM"});
  add(cases, "stacked cells",
      layers::RNN({layers::GRUCell({.units = 4}), layers::LSTMCell({.units = 4})},
                  {.return_sequences = true}),
      {"Scan"});
  CHECK(cases.check());
}

}  // namespace
}  // namespace cornu::test
