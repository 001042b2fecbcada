// SPDX-License-Identifier: Apache-2.0
// Quantizing the layers of a strategy's models.
#include <doctest/doctest.h>

#include "tests/distribute/models.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::distance;

namespace {

// A model with seeded weights that has learned a little; its layers are quantized, and it continues
// to learn.
struct Learned {
  Tensor predictions;
  std::vector<Tensor> weights;
  bool is_int8 = false;
};

Learned learn(const QuantizeOptions& quantization) {
  Sequential model(Input({.shape = {3}}), {layers::Dense({.units = 4, .activation = "tanh"}),
                                           layers::Dense({.units = 1})});
  int64_t seed = 1;
  for (const Variable& weight : model.weights()) {
    weight.assign(random::normal(weight.shape(), {.seed = seed++}));
  }
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.05}), .loss = "mse"});
  const Tensor x = random::normal({12, 3}, {.seed = 8});
  const Tensor y = random::normal({12, 1}, {.seed = 9});
  const FitOptions options{.batch_size = 6, .epochs = 2, .verbose = 0, .shuffle = false};
  model.fit(x, y, options);
  model.quantize(quantization);
  model.fit(x, y, options);
  Learned learned{.predictions = model.predict(x, {.batch_size = 12, .verbose = 0})[0],
                  .weights = model.get_weights()};
  for (const Variable& weight : model.weights()) {
    learned.is_int8 = learned.is_int8 || weight.dtype() == DType::Int8;
  }
  return learned;
}

}  // namespace

TEST_CASE("a model of a strategy is quantized as any other, in its scope and outside of it") {
  for (const bool is_int4 : {false, true}) {
    CAPTURE(is_int4);
    const QuantizeOptions quantization{.mode = is_int4 ? "int4" : "int8"};
    const Learned expected = learn(quantization);
    REQUIRE(expected.is_int8);
    const Strategy strategy = test::replicated(test::replicas_or_all(2));
    const auto scope = strategy.scope();
    const Learned got = learn(quantization);
    CHECK(got.is_int8);
    // A float that differs in the last bit may be rounded to a different integer.
    CHECK(distance(got.predictions, expected.predictions) < (is_int4 ? 0.3 : 0.02));
    REQUIRE(got.weights.size() == expected.weights.size());
    for (size_t i = 0; i < got.weights.size(); ++i) {
      const bool is_int8 = got.weights[i].dtype() == DType::Int8;
      if (is_int8 && is_int4) continue;  // a byte holds two numbers, of which either may differ
      CHECK(distance(got.weights[i], expected.weights[i]) < (is_int8 ? 1.5 : 0.1));
    }
  }
}

TEST_CASE("a model that was made in a strategy's scope is quantized there") {
  const Strategy strategy = test::replicated(test::replicas_or_all(2));
  std::optional<Sequential> model;
  {
    const auto scope = strategy.scope();
    model.emplace(Input({.shape = {3}}),
                  std::initializer_list<LayerHandle>{layers::Dense({.units = 2, .name = "dense"})});
    model->compile({.optimizer = "sgd", .loss = "mse"});
  }
  const Tensor x = random::normal({4, 3}, {.seed = 8});
  const Tensor before = model->predict(x, {.verbose = 0})[0];
  model->quantize("int8");
  CHECK(distance(model->predict(x, {.verbose = 0})[0], before) < 0.05);
  model->fit(x, random::normal({4, 2}, {.seed = 9}), {.verbose = 0});
  CHECK(model->get_layer("dense").weight("kernel").dtype() == DType::Int8);
}
