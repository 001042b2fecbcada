// SPDX-License-Identifier: Apache-2.0
// Not from a guide: many kinds of layers together, and weights of nested subclassed models.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

Model make_everything() {
  Tensor image = Input({.shape = {12, 12, 3}, .name = "image"});
  Tensor words = Input({.shape = {6}, .dtype = "int32", .name = "words"});
  Tensor x = layers::Rescaling({.scale = 2.0, .offset = -1.0})(image);
  x = layers::SeparableConv2D({.filters = 6, .kernel_size = 3, .padding = "same"})(x);
  x = layers::BatchNormalization()(x);
  x = layers::LeakyReLU({.negative_slope = 0.1})(x);
  x = layers::MaxPooling2D()(x);
  Tensor shortcut = x;
  x = layers::DepthwiseConv2D({.kernel_size = 3, .padding = "same", .activation = "relu"})(x);
  x = layers::add({x, shortcut});
  x = layers::Conv2DTranspose({.filters = 4, .kernel_size = 3, .strides = 2})(x);
  x = layers::GlobalAveragePooling2D()(x);
  Tensor y = layers::Embedding({.input_dim = 20, .output_dim = 5, .mask_zero = true})(words);
  y = layers::GlobalAveragePooling1D()(y);
  y = layers::LayerNormalization()(y);
  Tensor z = layers::concatenate({x, y});
  z = layers::Dense({.units = 8, .activation = "elu", .kernel_regularizer = "l2"})(z);
  Tensor a = layers::Dense({.units = 3, .name = "a"})(z);
  Tensor b = layers::Dense({.units = 1, .activation = "sigmoid", .name = "b"})(z);
  return Model({image, words}, {a, b});
}

}  // namespace

TEST_CASE("all_at_once") {
  const Golden golden("all_at_once");
  Model model = make_everything();
  initialize(model, 1300);
  model.compile({
      .optimizer = optimizers::AdamW({.learning_rate = optimizers::schedules::CosineDecay(
                                          {.initial_learning_rate = 1e-3, .decay_steps = 50}),
                                      .clipnorm = 1.0,
                                      .use_ema = true}),
      .loss = {{"a", losses::SparseCategoricalCrossentropy({.from_logits = true})},
               {"b", "binary_crossentropy"}},
      .loss_weights = {{"a", 1.0}, {"b", 0.5}},
      .metrics = {{"a", {"accuracy"}}, {"b", {"mae"}}},
      .weighted_metrics = {{"a", {"accuracy"}}, {"b", {"mse"}}},
  });
  Tensors x = {{"image", positive({30, 12, 12, 3}, 1301)},
               {"words", ops::reshape(labels(180, 20, 1302), {30, 6})}};
  Tensors y = {labels(30, 3, 1303), positive({30, 1}, 1304)};
  Tensor weight = positive({30}, 1305);
  golden.check("history", model.fit(x, y,
                                    {.batch_size = 12,
                                     .epochs = 3,
                                     .verbose = 0,
                                     .validation_data = {x, y},
                                     .shuffle = false,
                                     .sample_weight = {weight, weight}}));
  Tensors predicted = model.predict(x, {.verbose = 0});
  golden.check("a", predicted[0](Slice(3)));
  golden.check("b", predicted[1](Slice(3)));
}

namespace {

class Block : public Layer {
 public:
  explicit Block(int64_t units)
      : units_(units),
        hidden_(track("hidden", layers::Dense({.units = units, .activation = "relu"}))),
        norm_(track("norm", layers::LayerNormalization())) {}

  void build(const Shape&) override {
    gain_ = add_weight({.shape = {units_}, .initializer = "ones", .name = "gain"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return gain_ * norm_(hidden_(x)); }

 private:
  int64_t units_;
  layers::Dense hidden_;
  layers::LayerNormalization norm_;
  Variable gain_;
};

class Nested : public Model {
 public:
  Nested()
      : blocks_(track("blocks", std::vector{make_layer<Block>(6), make_layer<Block>(6)})),
        stem_(track("stem", layers::Dense({.units = 6}))),
        head_(track("head",
                    Sequential({layers::Dense({.units = 4}), layers::Dense({.units = 2})}))) {}

  Tensor call(const Tensor& inputs, const CallArgs&) override {
    Tensor x = stem_(inputs);
    for (const auto& block : blocks_) x = x + block(x);
    return head_(x);
  }

 private:
  std::vector<LayerRef<Block>> blocks_;
  layers::Dense stem_;
  Sequential head_;
};

}  // namespace

TEST_CASE("nested_weights") {
  const Golden golden("nested_weights");
  Nested model;
  Tensor x = values({3, 5}, 1321);
  model(x);
  golden.check("paths", paths_of(model.weights()));
  model.load_weights(keras_file("nested.weights.h5"));
  golden.check("y", model(x));
}

TEST_CASE("mask_zero") {
  const Golden golden("mask_zero");
  Model model = load_model(keras_file("mask_zero.keras"));
  golden.check("y", model(ops::reshape(labels(24, 20, 1331), {4, 6})));
}

TEST_CASE("named_heads") {
  const Golden golden("named_heads");
  Model loaded = load_model(keras_file("named_heads.keras"));
  golden.check("paths", paths_of(loaded.weights()));

  Tensor inputs = Input({.shape = {4}});
  Tensor zeta = layers::Dense({.units = 2, .name = "zeta"})(inputs);
  Tensor alpha = layers::Dense({.units = 2, .name = "alpha"})(inputs);
  Model made(inputs, {{"zeta", zeta}, {"alpha", alpha}});
  golden.check("paths", paths_of(made.weights()));
  made.load_weights(keras_file("named_heads.weights.h5"));
  for (Model* model : {&loaded, &made}) {
    Tensors y = (*model)(values({2, 4}, 1341));
    golden.check("zeta", y.at("zeta"));
    golden.check("alpha", y.at("alpha"));
  }
}
