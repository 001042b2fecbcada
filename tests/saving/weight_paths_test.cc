// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/weight_paths.h"

#include <doctest/doctest.h>

#include "tests/saving/models.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

std::vector<std::string> paths_of(const Layer& model) {
  std::vector<std::string> result;
  for (const SavedLayer& saved : weight_paths(model)) result.push_back(saved.path);
  return result;
}

using Paths = std::vector<std::string>;
using test::Scratch;

TEST_CASE("Sequential models: by class, numbered, without the input") {
  const Sequential model(Input({.shape = {4}}),
                         {layers::Dense({.units = 2, .name = "out"}), layers::BatchNormalization(),
                          layers::Dense({.units = 2}), layers::Dropout({.rate = 0.5})});
  CHECK(paths_of(model) == Paths{"", "layers/dense", "layers/batch_normalization", "layers/dense_1",
                                 "layers/dropout"});
}

TEST_CASE("own weights: those made to be trained first, whatever is frozen") {
  layers::BatchNormalization norm;
  norm.set_trainable(false);
  const Sequential model(Input({.shape = {4}}), {norm});
  norm.weight("gamma").set_trainable(false);
  std::vector<std::string> names;
  const std::vector<SavedLayer> saved = weight_paths(model);
  for (const Variable& variable : saved[1].weights) names.push_back(variable.name());
  CHECK(names == Paths{"gamma", "beta", "moving_mean", "moving_variance"});
  CHECK(model.weights()[0].name() == "gamma");
}

TEST_CASE("functional models: with inputs, without ops, nested models below their class") {
  const Tensor x = Input({.shape = {3}});
  const Sequential inner({layers::Dense({.units = 3})}, {.name = "inner"});
  const Tensor y = LayerHandle(inner)(x) * 2.0;
  const Model model(x, layers::Dense({.units = 1})(y));
  CHECK(paths_of(model) == Paths{"", "layers/input_layer", "layers/sequential",
                                 "layers/sequential/layers/dense", "layers/dense"});
}

class Packaged : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override { return dense_(x); }
  std::string class_name() const override { return "shop>PackagedDense"; }

 private:
  layers::Dense dense_ = track("dense", layers::Dense({.units = 3}));
};

TEST_CASE("classes of a package go by their own names, as in Keras") {
  const Tensor x = Input({.shape = {3}});
  const auto first = make_layer<Packaged>(), second = make_layer<Packaged>();
  const Model model(x, second(first(x)));
  CHECK(paths_of(model) == Paths{"", "layers/input_layer", "layers/packaged_dense",
                                 "layers/packaged_dense/dense", "layers/packaged_dense_1",
                                 "layers/packaged_dense_1/dense"});
  CHECK(first.name().starts_with("packaged_dense"));
}

TEST_CASE("what is skipped, with what is below it alone; numbers stay") {
  const Tensor x = Input({.shape = {3}});
  const layers::Dense shared({.units = 3}), first({.units = 3});
  const Sequential inner({layers::Dense({.units = 3}), shared});
  const Tensor y = shared(first(LayerHandle(inner)(x)));
  const Model model(x, y);
  const auto left = [&](const LayerHandle& skipped) {
    Paths paths;
    for (const SavedLayer& saved : weight_paths(model, {&skipped.get()})) {
      paths.push_back(saved.path);
    }
    return paths;
  };
  CHECK(left(first) == Paths{"", "layers/input_layer", "layers/sequential",
                             "layers/sequential/layers/dense", "layers/sequential/layers/dense_1"});
  CHECK(left(inner) == Paths{"", "layers/input_layer", "layers/dense", "layers/dense_1"});
}

class Branches : public Model {
 public:
  Branches() : Model(ModelOptions{}) {}

 private:
  layers::Dense zed_ = track("zed", layers::Dense({.units = 1}));
  layers::Dense early_ = track("early", layers::Dense({.units = 1}));
  layers::Dense mid_ = track("mid", layers::Dense({.units = 1}));
  layers::Dense private_ = track("_priv", layers::Dense({.units = 1}));
  layers::Dense bag_ = track("bag/dense", layers::Dense({.units = 1}));
  layers::Dense list_ = track("lists/dense", layers::Dense({.units = 1}));
};

TEST_CASE("subclassed models: attributes before 'layers' go by name, the others by the list") {
  // The paths that Keras 3.15.1 writes for the same attributes.
  CHECK(paths_of(Branches()) == Paths{"", "bag/dense", "early", "layers/dense", "layers/dense_2",
                                      "layers/dense_3", "layers/dense_5"});
}

class Block : public Layer {
  layers::Dense zed_ = track("zed", layers::Dense({.units = 1}));
  layers::Dense private_ = track("_a", layers::Dense({.units = 1}));
  layers::Dense unnamed_ = track(layers::Dense({.units = 1}));
};

TEST_CASE("subclassed layers: all by attribute, private ones last") {
  const Sequential model({make_layer<Block>()});
  CHECK(paths_of(model) ==
        Paths{"", "layers/block", "layers/block/dense", "layers/block/zed", "layers/block/_a"});
}

// self.scale = self.add_weight(name="scale"), literally; and one without a name.
class Tracked : public Layer {
 public:
  void build(const Shape& shape) override {
    scale_ = track("scale", add_weight({.shape = {shape.back()}, .name = "scale"}));
    shift_ = track("shift", add_weight({.shape = {shape.back()}}));
    track("shift", shift_);
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return x * scale_ + shift_; }

 private:
  Variable scale_, shift_;
};

TEST_CASE("a weight of add_weight that is tracked as well is one weight, of the attribute's name") {
  const Scratch scratch;
  const auto layer = make_layer<Tracked>(), other = make_layer<Tracked>();
  const Tensor x = Input({.shape = {4}});
  Model model(x, layer(x)), same(x, other(x));
  CHECK(model.count_params() == 8);
  CHECK(weight_paths(model)[2].weights.size() == 2);
  CHECK(layer.weight("scale").path() == layer.name() + "/scale");
  CHECK(layer.weight("shift").path() == layer.name() + "/shift");
  model.save_weights(scratch.path("m.weights.h5"));
  same.load_weights(scratch.path("m.weights.h5"));
  const Tensor in = test::numbers({2, 4});
  CHECK(test::distance(model.predict(in), same.predict(in)) == 0);
}

}  // namespace
}  // namespace cornu
