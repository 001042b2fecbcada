// SPDX-License-Identifier: Apache-2.0
// Custom training loops under strategies.
#include <doctest/doctest.h>

#include "tests/distribute/models.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using distribute::PerReplica;
using test::distance;
using test::replica_counts;
using test::strategy_kinds;
using test::StrategyKind;

namespace {

// The results of a loop: the losses of its steps, the metric of each epoch, and the weights.
struct Outcome {
  std::vector<Tensor> weights;
  std::vector<double> losses;
  std::vector<double> metrics;
};

Outcome run_loop(const Strategy& strategy, bool within_function) {
  const auto scope = strategy.scope();
  const int64_t rows = 23;
  const int64_t batch_size = 6;
  const Tensor x = random::normal({rows, 3}, {.dtype = DType::Float64, .seed = 1});
  const Tensor y = random::randint({rows}, 0, 4, {.seed = 2});
  Sequential model({Input({.shape = {3}, .dtype = DType::Float64}),
                    layers::Dense({.units = 5, .activation = "relu", .dtype = "float64"}),
                    layers::Dense({.units = 4, .dtype = "float64"})});
  int64_t seed = 5;
  for (const Variable& weight : model.weights()) {
    weight.assign(random::normal(weight.shape(), {.dtype = DType::Float64, .seed = seed++}));
  }
  optimizers::Adam optimizer({.learning_rate = 0.01});
  losses::SparseCategoricalCrossentropy loss_fn(
      {.from_logits = true, .reduction = Reduction::None});
  metrics::SparseCategoricalAccuracy accuracy;
  Variable steps(
      Tensor::scalar(int64_t{0}),
      {.name = "steps", .trainable = false, .aggregation = VariableAggregation::OnlyFirstReplica});
  const Function step = function([&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor logits = model(x, {.training = true});
    const Tensor loss =
        distribute::compute_average_loss(loss_fn(y, logits), {.global_batch_size = batch_size});
    const auto gradients = tape.gradient(loss, model.trainable_variables());
    optimizer.apply_gradients(gradients, model.trainable_variables());
    accuracy.update_state(y, logits);
    steps.assign_add(1);
    return loss;
  });
  const Function whole = function([&](const std::vector<Tensor>& parts) {
    std::vector<Tensors> values;
    for (size_t i = 0; i + 1 < parts.size(); i += 2) {
      values.push_back(Tensors({parts[i], parts[i + 1]}));
    }
    return std::vector<Tensor>{
        strategy.reduce(ReduceOp::Sum, strategy.run(step, PerReplica(values)))};
  });
  const Function read = function([&](const Tensor&) { return accuracy.result(); });
  const auto dataset = strategy.distribute_dataset(
      data::Dataset::from_tensor_slices({x, y}).shuffle(100, {.seed = 4}).batch(batch_size));
  Outcome outcome;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const PerReplica& batch : dataset) {
      Tensor loss;
      if (within_function) {
        std::vector<Tensor> parts;
        for (const Tensors& part : batch.values()) {
          parts.insert(parts.end(), part.begin(), part.end());
        }
        loss = whole.call(parts)[0];
      } else {
        loss = strategy.reduce(ReduceOp::Sum, strategy.run(step, batch));
      }
      outcome.losses.push_back(loss.item<double>());
    }
    // Over all workers within a step; outside of a step, over this worker's replicas.
    const double whole =
        strategy.run(read, Tensors(Tensor::scalar(0.0)))[0].single().item<double>();
    if (strategy.impl().num_workers() == 1) CHECK(accuracy.result().item<double>() == whole);
    outcome.metrics.push_back(whole);
    accuracy.reset_state();
  }
  CHECK(steps.item<int64_t>() == 12);
  outcome.weights = model.get_weights();
  return outcome;
}

void check_same(const Outcome& outcome, const Outcome& expected) {
  CHECK(distance(outcome.weights, expected.weights) < 1e-9);
  REQUIRE(outcome.losses.size() == expected.losses.size());
  for (size_t i = 0; i < expected.losses.size(); ++i) {
    CHECK(std::abs(outcome.losses[i] - expected.losses[i]) < 1e-9);
  }
  CHECK(outcome.metrics == expected.metrics);
}

}  // namespace

TEST_CASE("a custom training loop") {
  const Outcome expected = run_loop(get_strategy(), false);
  for (const StrategyKind& kind : strategy_kinds()) {
    for (const int replicas : replica_counts()) {
      CAPTURE(kind.name);
      CAPTURE(replicas);
      check_same(run_loop(kind.make(replicas), false), expected);
    }
  }
}

TEST_CASE("run within a function") {
  const Outcome expected = run_loop(get_strategy(), false);
  for (const int replicas : replica_counts()) {
    CAPTURE(replicas);
    check_same(run_loop(strategy_kinds()[0].make(replicas), true), expected);
  }
}

// Two models and two optimizers in one step.
TEST_CASE("a generator and a discriminator") {
  auto train = [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    auto dense = [](int64_t inputs, int64_t outputs, int64_t seed) {
      Sequential model({Input({.shape = {inputs}, .dtype = DType::Float64}),
                        layers::Dense({.units = 6, .activation = "tanh", .dtype = "float64"}),
                        layers::Dense({.units = outputs, .dtype = "float64"})});
      for (const Variable& weight : model.weights()) {
        weight.assign(random::normal(weight.shape(),
                                     {.stddev = 0.5, .dtype = DType::Float64, .seed = seed++}));
      }
      return model;
    };
    Sequential generator = dense(2, 3, 1);
    Sequential discriminator = dense(3, 1, 20);
    optimizers::SGD of_generator({.learning_rate = 0.05, .momentum = 0.5});
    optimizers::Adam of_discriminator({.learning_rate = 0.01});
    const losses::BinaryCrossentropy loss_fn({.from_logits = true});
    const Function step = function([&](const Tensor& real, const Tensor& noise) {
      GradientTape generator_tape, discriminator_tape;
      const Tensor fake = generator(noise, {.training = true});
      const Tensor of_real = discriminator(real, {.training = true});
      const Tensor of_fake = discriminator(fake, {.training = true});
      const Tensor generator_loss = loss_fn(ops::ones_like(of_fake), of_fake);
      const Tensor discriminator_loss =
          loss_fn(ops::ones_like(of_real), of_real) + loss_fn(ops::zeros_like(of_fake), of_fake);
      of_generator.apply_gradients(
          generator_tape.gradient(generator_loss, generator.trainable_variables()),
          generator.trainable_variables());
      of_discriminator.apply_gradients(
          discriminator_tape.gradient(discriminator_loss, discriminator.trainable_variables()),
          discriminator.trainable_variables());
      return generator_loss + discriminator_loss;
    });
    const Tensor real = random::normal({17, 3}, {.dtype = DType::Float64, .seed = 40});
    const Tensor noise = random::normal({17, 2}, {.dtype = DType::Float64, .seed = 41});
    const auto dataset = strategy.distribute_dataset(
        data::Dataset::from_tensor_slices({real, noise}).batch(5).repeat(5));
    std::vector<Tensor> result;
    for (const PerReplica& batch : dataset) {
      result.push_back(strategy.reduce(ReduceOp::Sum, strategy.run(step, batch)));
    }
    for (const Model& model : {Model(generator), Model(discriminator)}) {
      const auto weights = model.get_weights();
      result.insert(result.end(), weights.begin(), weights.end());
    }
    return result;
  };
  const std::vector<Tensor> expected = train(get_strategy());
  for (const StrategyKind& kind : strategy_kinds()) {
    for (const int replicas : replica_counts()) {
      CAPTURE(kind.name);
      CHECK(distance(train(kind.make(replicas)), expected) < 1e-9);
    }
  }
}
