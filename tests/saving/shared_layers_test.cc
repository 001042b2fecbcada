// SPDX-License-Identifier: Apache-2.0
// Layers shared by several parts of a model are still shared after saving and loading.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "tests/saving/models.h"
#include "tests/support/log.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::numbers;

namespace {

Model over(const LayerHandle& layer, int64_t units = 0) {
  const Tensor x = Input({.shape = {4}});
  const Tensor y = layer(x);
  return Model(x, units > 0 ? Tensor(layers::Dense({.units = units})(y)) : y);
}

Model joined(const std::vector<LayerHandle>& parts) {
  const Tensor x = Input({.shape = {4}});
  std::vector<Tensor> ends;
  for (const LayerHandle& part : parts) ends.push_back(part(x));
  return Model(x, layers::Concatenate()(ends));
}

void check_kept(Model& model, size_t variables) {
  const test::Scratch scratch;
  const Tensor x = numbers({5, 4});
  const Tensors expected = test::predictions(model, x);
  REQUIRE(model.weights().size() == variables);
  model.save(scratch.path("model.keras"));
  model.save_weights(scratch.path("model.weights.h5"));
  Model back = load_model(scratch.path("model.keras"));
  CHECK(back.weights().size() == variables);
  CHECK(test::distance(test::predictions(back, x), expected) == 0);
  // Each layer exists once: after changing its weights, both models compute the same.
  for (const Variable& weight : back.weights()) weight.assign(weight.value() * 2.0 + 0.25);
  const Tensors changed = test::predictions(back, x);
  CHECK(test::distance(changed, expected) > 1e-3);
  back.save(scratch.path("again.keras"));
  Model again = load_model(scratch.path("again.keras"));
  CHECK(test::distance(test::predictions(again, x), changed) == 0);
  again.load_weights(scratch.path("model.weights.h5"));
  CHECK(test::distance(test::predictions(again, x), expected) == 0);
  CHECK(model_from_json(model.to_json()).weights().size() == variables);
}

bool has_ids(const Model& model) {
  return model.to_json().find("shared_object_id") != std::string::npos;
}

}  // namespace

TEST_CASE("a layer, a model, and models of models that several parts have") {
  const LayerHandle dense = layers::Dense({.units = 4, .activation = "tanh"});
  Model of_layers = joined({over(dense), over(dense, 3)});
  check_kept(of_layers, 4);

  const LayerHandle inner(over(layers::Dense({.units = 4})));
  Model whole_first = joined({inner, over(inner)});
  check_kept(whole_first, 2);
  Model part_first = joined({over(inner), inner});
  check_kept(part_first, 2);
  Model deep = joined({over(over(inner), 2), over(inner, 3), inner});
  check_kept(deep, 6);
}

TEST_CASE("a layer that is in a wrapper, too") {
  const LayerHandle dense = layers::Dense({.units = 4, .activation = "tanh"});
  Model wrapped = joined({over(dense), over(layers::SpectralNormalization(dense))});
  CHECK(wrapped.weights().size() == 3);
  CHECK(has_ids(wrapped));
  CHECK(model_from_json(wrapped.to_json()).weights().size() == 3);
}

TEST_CASE("configs of layers that are once in a model say nothing") {
  const LayerHandle dense = layers::Dense({.units = 4});
  const Tensor x = Input({.shape = {4}});
  CHECK_FALSE(has_ids(Model(x, dense(dense(x)))));
  CHECK_FALSE(has_ids(joined({over(layers::Dense({.units = 4})), over(layers::ReLU())})));
}

TEST_CASE("ids of a file that are no numbers, or another class's, are no reason to crash") {
  const Model model = joined({over(layers::Dense({.units = 4, .name = "d"})),
                              over(layers::Dense({.units = 4, .name = "e"}))});
  const auto with_id = [&](const std::string& id) {
    std::string text = model.to_json();
    const std::string entry = "\"class_name\": \"Dense\"";
    const std::string marked = "\"shared_object_id\": " + id + ", " + entry;
    for (size_t at = text.find(entry); at != std::string::npos;
         at = text.find(entry, at + marked.size())) {
      text.replace(at, entry.size(), marked);
    }
    return model_from_json(text).weights().size();
  };
  CHECK(with_id("\"x\"") == 4);
  CHECK(with_id("null") == 4);
  CHECK(with_id("7") == 2);  // the file says that it is one layer
}

TEST_CASE("weights that go to a layer of another name are told of, where the model has that one") {
  // The layer of the longer branch comes first.
  const auto branches = [](bool first_is_longer, const std::string& first,
                           const std::string& second = "b") {
    const Tensor x = Input({.shape = {4}});
    Tensor a = layers::Dense({.units = 4, .name = first})(x);
    Tensor b = layers::Dense({.units = 4, .name = second})(x);
    Tensor& longer = first_is_longer ? a : b;
    longer = ops::relu(ops::relu(longer));
    return Model(x, layers::Add()({a, b}));
  };
  const test::Scratch scratch;
  const auto warnings = [&](Model from, Model to) {
    from.save_weights(scratch.path("a.weights.h5"));
    const test::Log log;
    to.load_weights(scratch.path("a.weights.h5"));
    return log.text();
  };
  CHECK(test::contains(
      warnings(branches(true, "a"), branches(false, "a")),
      "a.weights.h5: weights that a layer 'a' had go to Dense 'b', as the order of the model's "
      "layers has it, though the model has a layer 'a'."));
  CHECK(warnings(branches(true, "a"), branches(true, "a")).empty());
  CHECK(warnings(branches(true, "c", "d"), branches(false, "a")).empty());
  // Automatically numbered names, starting at a different number.
  CHECK(warnings(branches(true, "dense", "dense_1"), branches(true, "dense_1", "dense_2")).empty());
  CHECK(warnings(branches(true, "dense_9", "dense_10"), branches(true, "dense_8", "dense_9"))
            .empty());
  CHECK(test::contains(
      warnings(branches(true, "dense", "dense_1"), branches(false, "dense", "dense_1")),
      "weights that a layer 'dense' had go to Dense 'dense_1', as the order of the model's"));
}

TEST_CASE("layers found by attribute may have each other's automatic names") {
  class Pair : public Model {
   public:
    Pair(const std::string& first, const std::string& second)
        : first_(track("head", layers::Dense({.units = 2, .name = first}))),
          second_(track("tail", layers::Dense({.units = 2, .name = second}))) {}
    Tensor call(const Tensor& x, const CallArgs&) override { return second_(first_(x)); }

   private:
    layers::Dense first_, second_;
  };
  const test::Scratch scratch;
  const auto make = [](const std::string& first, const std::string& second) {
    auto model = std::make_unique<Pair>(first, second);
    (*model)(ops::ones({1, 2}));
    return model;
  };
  const auto saved = make("dense", "dense_1");
  saved->save_weights(scratch.path("p.weights.h5"));
  const auto loaded = make("dense_1", "dense");
  const test::Log log;
  loaded->load_weights(scratch.path("p.weights.h5"));
  CHECK(log.text().empty());
  const Tensor x = ops::ones({1, 2});
  CHECK(ops::all(ops::equal((*saved)(x)[0], (*loaded)(x)[0])).item<bool>());
}
