// SPDX-License-Identifier: Apache-2.0
// Undefined tensors (Python's None) as arguments of calls.
#include <doctest/doctest.h>

#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::distance;
using test::error_of;
using test::some_values;

namespace {

const Tensor kNone;

// x, scaled by `scale` and shifted by `shift` where these are given.
class Optional : public Layer {
 public:
  explicit Optional(const LayerOptions& options = {}) : Layer(options) {}
  const CallSignature& call_signature() const override {
    static const CallSignature signature{.inputs = {"x", "scale", "shift"}};
    return signature;
  }
  void build_list(const std::vector<Shape>& shapes) override { built_with = shapes.size(); }
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    names = inputs.names();
    Tensor y = inputs["x"];
    if (const Tensor scale = inputs.get("scale"); scale.defined()) y = y * scale;
    if (const Tensor shift = inputs.get("shift"); shift.defined()) y = y + shift;
    return y;
  }

  size_t built_with = 0;
  std::vector<std::string> names;
};

// As above, without names in its call: a dictionary of inputs.
class OfDictionary : public Layer {
 public:
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    masked = args.mask_given;
    const Tensor more = inputs.get("more");
    return more.defined() ? inputs["x"] + more : inputs["x"];
  }

  bool masked = false;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("named inputs that are undefined aren't given: in a custom layer's call") {
  const Tensor x = some_values({2, 3});
  const auto layer = make_layer<Optional>(LayerOptions{.name = "own"});
  CHECK(distance(layer(Tensors{{"x", x}, {"scale", kNone}, {"shift", x}}), x + x) == 0);
  CHECK(layer->names == Names{"x", "shift"});
  CHECK(layer->built_with == 2);
  // In order, too, as in Python.
  CHECK(distance(layer({x, kNone, x}), x + x) == 0);
  CHECK(layer->names == Names{"x", "shift"});
  CHECK(distance(layer({x, kNone, kNone}), x) == 0);
  CHECK(layer->names == Names{"x"});

  CHECK(error_of([&] {
          layer(Tensors{{"x", kNone}, {"scale", x}});
        }) == "NotFound: Optional 'own': There is no tensor named 'x'. Known: scale.");
  CHECK(error_of([&] {
          layer(Tensors{{"x", kNone}});
        }) == "InvalidArgument: Optional 'own': expected an input, got none.");
  CHECK(error_of([&] {
          layer(Tensors{{"x", x}, {"scales", kNone}});
        }) ==
        "InvalidArgument: Optional 'own': its call has no argument 'scales'. Did you mean 'scale'? "
        "Known: x, scale, shift.");
}

TEST_CASE("named inputs that are undefined aren't given: in a dictionary") {
  const Tensor x = some_values({2, 3});
  const auto layer = make_layer<OfDictionary>();
  CHECK(distance(layer(Tensors{{"x", x}, {"more", kNone}}), x) == 0);
  CHECK(distance(layer(Tensors{{"more", x}, {"x", x}}), x + x) == 0);
  // The masks of the others stay theirs.
  const Tensor mask = ops::ones({2}, "bool");
  CHECK(distance(layer(Tensors{{"more", kNone}, {"x", x}}, {.mask = {kNone, mask}}), x) == 0);
  CHECK(layer->masked);
}

TEST_CASE("attention without a mask, a key, a query") {
  const Tensor x = some_values({2, 4, 6});
  const auto attention =
      layers::MultiHeadAttention({.num_heads = 2, .key_dim = 3, .name = "attention"});
  const Tensor expected = attention({x, x});
  CHECK(distance(attention(Tensors{{"query", x}, {"value", x}, {"attention_mask", kNone}}),
                 expected) == 0);
  CHECK(distance(attention({x, x, kNone}), expected) == 0);
  CHECK(error_of([&] {
          attention(Tensors{{"query", x}, {"value", kNone}});
        }) == "InvalidArgument: MultiHeadAttention 'attention': expected a query and a value.");
  CHECK(error_of([&] {
          attention(Tensors{{"query", kNone}, {"value", x}});
        }) ==
        "InvalidArgument: MultiHeadAttention 'attention': expected its argument 'query', which it "
        "needs, got none. Give it a tensor.");
}

TEST_CASE("arguments that a layer needs, and inputs in a list") {
  const Tensor x = some_values({2, 4});
  const layers::CategoryEncoding encoding({.num_tokens = 3, .name = "encoding"});
  CHECK(error_of([&] {
          encoding(Tensors{{"inputs", kNone}, {"count_weights", x}});
        }) ==
        "InvalidArgument: CategoryEncoding 'encoding': expected its argument 'inputs', which it "
        "needs, got none. Give it a tensor.");
  const layers::LSTM lstm({.units = 2, .name = "lstm"});
  CHECK(error_of([&] {
          lstm({kNone, x, x});
        }) ==
        "InvalidArgument: LSTM 'lstm': expected its argument 'sequences', which it needs, got "
        "none. Give it a tensor.");
  const layers::Add add({.name = "add"});
  CHECK(error_of([&] {
          add({x, kNone});
        }) ==
        "InvalidArgument: Add 'add': expected 2 tensors, got undefined ones (None) among them. "
        "Only inputs with names may be left out: give it all of a list.");
  CHECK(error_of([&] { add(kNone); }) ==
        "InvalidArgument: Add 'add': expected an input, got none.");
}

TEST_CASE("functional models: what isn't given isn't in the graph") {
  const test::Scratch scratch;
  const Tensor in = Input({.shape = {4, 6}});
  const auto attention = layers::MultiHeadAttention({.num_heads = 2, .key_dim = 3});
  const Tensor out = attention(Tensors{{"query", in}, {"value", in}, {"attention_mask", kNone}});
  Model model(in, out);
  const Tensor x = some_values({2, 4, 6});
  const Tensor expected = attention({x, x});
  CHECK(distance(model(x), expected) == 0);
  model.save(scratch.path("m.keras"));
  CHECK(distance(load_model(scratch.path("m.keras"))(x), expected) == 0);
}

// A model with an argument that may be left out.
class OfTwo : public Model {
 public:
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    const Tensor more = inputs.get("more");
    return dense_(more.defined() ? inputs["x"] + more : inputs["x"], args);
  }

 private:
  layers::Dense dense_ = track("dense", layers::Dense({.units = 1}));
};

TEST_CASE("a model that is trained without an optional argument") {
  const Tensor x = some_values({6, 3}), y = some_values({6, 1});
  const Tensors given = {{"x", x}, {"more", kNone}}, alone = {{"x", x}};
  OfTwo model;
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor before = model.predict(alone, {.verbose = 0});
  CHECK(distance(model.predict(given, {.verbose = 0}), before) == 0);
  CHECK(distance(model.predict_on_batch(given), before) < 1e-6);
  model.fit(given, y, {.batch_size = 2, .verbose = 0, .validation_split = 0.5});
  CHECK(distance(model.predict(alone, {.verbose = 0}), before) > 0);
  CHECK(model.evaluate(given, y, {.verbose = 0}).at("loss") ==
        model.evaluate(alone, y, {.verbose = 0}).at("loss"));
  CHECK(model.train_on_batch(given, y).at("loss") > 0);
  CHECK(error_of([&] {
          model.predict({x, kNone}, {.verbose = 0});
        }).find("undefined") != std::string::npos);
}

TEST_CASE("models within others, called by name") {
  const Tensor a = Input({.shape = {3}, .name = "a"}), b = Input({.shape = {3}, .name = "b"});
  Model sum({a, b}, a + b, {.name = "sum"});
  const Tensor x = some_values({2, 3});
  CHECK(distance(sum(Tensors{{"a", x}, {"b", x}, {"c", kNone}}), x + x) == 0);
  const char* const why = "no data was passed for input 'b': expected a, b, got a.";
  CHECK(error_of([&] {
          sum(Tensors{{"a", x}, {"b", kNone}});
        }) == std::string("NotFound: Functional 'sum': ") + why);
  const Tensor in = Input({.shape = {3}});
  CHECK(error_of([&] {
          sum(Tensors{{"a", in}, {"b", kNone}});
        }) == std::string("NotFound: Functional 'sum': ") + why);
}
