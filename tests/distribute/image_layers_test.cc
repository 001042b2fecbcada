// SPDX-License-Identifier: Apache-2.0
// Random image layers on replicas draw the same numbers for an example as on one device.
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

// Equal pictures augmented by layers that draw some numbers once per batch. (If RandAugment chose
// Equalization, which it doesn't with this seed, each replica's part would have one histogram, as
// Keras's batch has.)
std::vector<Tensor> augmented(const Strategy& strategy) {
  const auto scope = strategy.scope();
  set_random_seed(3);
  const Tensor picture = ops::reshape(ops::linspace(0.0, 1.0, 192), {1, 8, 8, 3});
  const Tensor x = ops::cast(ops::broadcast_to(picture, {7, 8, 8, 3}), DType::Float32);
  std::vector<Tensor> results;
  for (const LayerHandle& layer : std::vector<LayerHandle>{
           layers::AugMix({.value_range = {0.0, 1.0}, .seed = 1}),
           layers::RandAugment({.value_range = {0.0, 1.0}, .seed = 5}),
           layers::RandomGaussianBlur({.sigma = 1.0, .value_range = {0.0, 1.0}, .seed = 3}),
           layers::RandomElasticTransform({.value_range = {0.0, 1.0}, .seed = 4}),
       }) {
    const Function step =
        function([&](const Tensor& part) { return Tensor(layer(part, {.training = true})); });
    results.push_back(strategy.gather(strategy.run(step, divided(strategy, x))));
  }
  return results;
}

}  // namespace

TEST_CASE("what is drawn once for a batch is the same on all replicas") {
  const std::vector<Tensor> expected = augmented(distribute::OneDeviceStrategy(devices(1).front()));
  for (const int replicas : {1, 2, 3, 5}) {
    CAPTURE(replicas);
    const std::vector<Tensor> found = augmented(mirrored(replicas));
    for (size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(ops::max(ops::abs(found[i] - expected[i])).item<float>() < 1e-6);
    }
  }
}

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
