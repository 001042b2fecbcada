// SPDX-License-Identifier: Apache-2.0
// Random layers of pictures on replicas: what is drawn for an example is what one device draws.
#include <doctest/doctest.h>

#include "tests/distribute/models.h"

using namespace cornu;
using namespace cornu::test;

namespace {

Model augmenting_model() {
  const auto wide = DType::Float64;
  Sequential model({
      Input({.shape = {6, 6, 2}, .dtype = wide}),
      layers::RandomFlip({.seed = 1, .dtype = wide}),
      layers::RandomRotation({.factor = 0.2, .seed = 2, .dtype = wide}),
      layers::RandomZoom({.height_factor = 0.2, .width_factor = 0.3, .seed = 3, .dtype = wide}),
      layers::RandomTranslation(
          {.height_factor = 0.2, .width_factor = 0.1, .seed = 4, .dtype = wide}),
      layers::RandomContrast(
          {.factor = {0.5, 0.5}, .value_range = {-9.0, 9.0}, .seed = 5, .dtype = wide}),
      layers::RandomBrightness(
          {.factor = 0.1, .value_range = {-9.0, 9.0}, .seed = 6, .dtype = wide}),
      layers::RandomCrop({.height = 3, .width = 4, .seed = 7, .dtype = wide}),
      layers::Flatten({.dtype = wide}),
      layers::Dense({.units = 4, .kernel_initializer = "zeros", .dtype = wide}),
  });
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.05}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  return model;
}

std::vector<Tensor> trained(const Strategy& strategy) {
  const auto scope = strategy.scope();
  set_random_seed(3);
  Model model = augmenting_model();
  const Examples examples = make_examples(22);
  model.fit(examples.x, examples.kind, {.batch_size = 8, .epochs = 2, .verbose = 0});
  return model.get_weights();
}

}  // namespace

TEST_CASE("pictures are augmented alike on any number of replicas") {
  const std::vector<Tensor> expected = trained(get_strategy());
  REQUIRE(ops::max(ops::abs(expected[0])).item<double>() > 0.01);
  for (const StrategyKind& kind : strategy_kinds()) {
    for (const int replicas : {1, 2, 3, 5}) {
      CAPTURE(kind.name);
      CAPTURE(replicas);
      CHECK(distance(trained(kind.make(replicas)), expected) < 1e-9);
    }
  }
}
