// SPDX-License-Identifier: Apache-2.0
// Every strategy of several replicas yields the losses, metrics and weights of one device with the
// same global batches, whatever their sizes.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "tests/distribute/models.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::distance;
using test::Examples;
using test::make_examples;
using test::make_model;
using test::Normalization;
using test::replica_counts;
using test::replicas_or_all;
using test::strategy_kinds;
using test::StrategyKind;

namespace {

constexpr double kLossTolerance = 4e-7;

// The results of a training run.
struct Outcome {
  std::vector<Tensor> weights;
  History history;
  Logs evaluated;
  std::vector<Tensor> predicted;
};

// Metrics that are kept as precisely as the models compute.
Metric accuracy() {
  return metrics::SparseCategoricalAccuracy({.name = "accuracy", .dtype = "float64"});
}
Metric crossentropy() {
  return metrics::SparseCategoricalCrossentropy(
      {.name = "crossentropy", .dtype = "float64", .from_logits = true});
}

struct Training {
  int64_t examples = 37;
  int64_t batch_size = 8;
  int64_t epochs = 4;
  bool weighted = true;
  bool eager = false;
  Optimizer optimizer = optimizers::SGD({.learning_rate = 0.02, .momentum = 0.9});
};

Outcome fit(Model& model, const Training& training) {
  const Examples examples = make_examples(training.examples);
  model.compile({.optimizer = training.optimizer,
                 .loss = {{"kind", losses::SparseCategoricalCrossentropy({.from_logits = true})},
                          {"size", "mse"}},
                 .loss_weights = {{"kind", 1.0}, {"size", 0.3}},
                 .metrics = {{"kind", {accuracy()}},
                             {"size", {metrics::MeanAbsoluteError({.dtype = "float64"})}}},
                 .weighted_metrics = {{"kind", {crossentropy()}},
                                      {"size", {metrics::MeanSquaredError({.dtype = "float64"})}}},
                 .run_eagerly = training.eager});
  set_random_seed(7);
  const Tensors targets = {{"kind", examples.kind}, {"size", examples.size}};
  const Tensors weight = training.weighted ? Tensors(examples.weight) : Tensors();
  Outcome outcome;
  outcome.history = model.fit(examples.x, targets,
                              {.batch_size = training.batch_size,
                               .epochs = training.epochs,
                               .verbose = 0,
                               .sample_weight = weight});
  outcome.evaluated =
      model.evaluate(examples.x, targets,
                     {.batch_size = training.batch_size, .verbose = 0, .sample_weight = weight});
  outcome.predicted =
      model.predict(examples.x, {.batch_size = training.batch_size, .verbose = 0}).list();
  outcome.weights = model.get_weights();
  return outcome;
}

// The metrics above are equal to 1e-9. Losses are kept in float32, as in Keras, and a sum of
// batches per replica has other roundings (6e-8 each) than a sum on one device.
double tolerance_of(const std::string& figure) {
  const bool is_loss = figure == "loss" || figure.ends_with("_loss");
  return is_loss ? kLossTolerance : 1e-9;
}

void check_figure(const std::string& name, double got, double expected) {
  CAPTURE(name);
  CAPTURE(got);
  CAPTURE(expected);
  CHECK(std::abs(got - expected) <= tolerance_of(name) * std::abs(expected));
}

void check_same(const Outcome& outcome, const Outcome& expected) {
  CHECK(distance(outcome.weights, expected.weights) < 1e-9);
  CHECK(distance(outcome.predicted, expected.predicted) < 1e-9);
  REQUIRE(outcome.history.size() == expected.history.size());
  for (const auto& entry : expected.history) {
    const auto& [name, values] = entry;
    const std::vector<double>& own = outcome.history[name];
    REQUIRE(own.size() == values.size());
    for (size_t i = 0; i < values.size(); ++i) check_figure(name, own[i], values[i]);
  }
  for (const auto& [name, value] : expected.evaluated) {
    check_figure(name, outcome.evaluated[name], value);
  }
}

Outcome on_one_device(Normalization normalization, int64_t parts, const Training& training) {
  Model model = make_model(normalization, parts);
  return fit(model, training);
}

Outcome on(const Strategy& strategy, Normalization normalization, const Training& training) {
  const auto scope = strategy.scope();
  Model model = make_model(normalization);
  return fit(model, training);
}

}  // namespace

TEST_CASE("training on replicas is training on one device that normalizes each part by itself") {
  for (const int replicas : replica_counts()) {
    const Outcome expected = on_one_device(Normalization::Parts, replicas, {});
    for (const StrategyKind& kind : strategy_kinds()) {
      CAPTURE(kind.name);
      CAPTURE(replicas);
      const Strategy strategy = kind.make(replicas);
      CHECK(strategy.num_replicas_in_sync() == replicas);
      check_same(on(strategy, Normalization::Plain, {}), expected);
    }
  }
}

TEST_CASE("with synchronized normalization it is training on one device") {
  const Outcome expected = on_one_device(Normalization::Plain, 1, {});
  for (const int replicas : replica_counts()) {
    for (const StrategyKind& kind : strategy_kinds()) {
      CAPTURE(kind.name);
      CAPTURE(replicas);
      check_same(on(kind.make(replicas), Normalization::Synchronized, {}), expected);
    }
  }
}

TEST_CASE("one replica gives the bits of one device") {
  for (const StrategyKind& kind : strategy_kinds()) {
    CAPTURE(kind.name);
    const Outcome one = on(kind.make(1), Normalization::Plain, {});
    const Outcome expected = on_one_device(Normalization::Plain, 1, {});
    CHECK(distance(one.weights, expected.weights) == 0);
    for (const auto& [name, values] : expected.history) CHECK(one.history[name] == values);
  }
}

TEST_CASE("optimizers, op by op, without weights") {
  const Strategy strategy = strategy_kinds()[0].make(replicas_or_all(2));
  const Training trainings[] = {
      {.optimizer = optimizers::Adam({.learning_rate = 0.01, .global_clipnorm = 0.5})},
      {.optimizer = optimizers::RMSprop({.weight_decay = 0.01, .use_ema = true})},
      {.weighted = false},
      {.examples = 11, .batch_size = 4, .epochs = 2, .eager = true},
      {.epochs = 3, .optimizer = optimizers::SGD({.gradient_accumulation_steps = 2})},
      {.optimizer = optimizers::Adafactor({.learning_rate = 0.01})},
      {.optimizer = optimizers::Muon({.learning_rate = 0.01, .clipnorm = 1.0})},
      {.optimizer = optimizers::ScheduleFreeAdamW({.learning_rate = 0.01, .warmup_steps = 5})},
      {.optimizer = optimizers::LossScaleOptimizer(
           {.inner_optimizer = optimizers::SGD({.learning_rate = 0.02, .use_ema = true}),
            .dynamic_growth_steps = 3})},
      {.optimizer =
           optimizers::MultiOptimizer({.optimizer_map = optimizers::OptimizerMap(
                                           optimizers::SGD({.learning_rate = 0.02}),
                                           {{".*bias", optimizers::Adam({.learning_rate = 0.01})}}),
                                       .loss_scale_factor = 4.0})},
  };
  for (const Training& training : trainings) {
    CAPTURE(training.optimizer.impl().class_name());
    Training again = training;
    again.optimizer = optimizer_from_json(serialize(training.optimizer));
    const Outcome expected = on_one_device(Normalization::Plain, 1, again);
    Optimizer own = optimizer_from_json(serialize(training.optimizer));
    again.optimizer = own;
    check_same(on(strategy, Normalization::Synchronized, again), expected);
  }
}

// Per-example losses: the gradient is that of their sum, and their mean is reported.
TEST_CASE("losses that aren't reduced") {
  auto train = [](int outputs, bool regularized) {
    const Tensor input = Input({.shape = {3}, .dtype = DType::Float64});
    auto dense = [&](const char* name) {
      layers::DenseOptions options = {.units = 2, .name = name, .dtype = "float64"};
      if (regularized) options.kernel_regularizer = regularizers::L2(0.1);
      return layers::Dense(options)(input);
    };
    const Loss by_example(losses::MeanSquaredError({.reduction = Reduction::None}));
    Model model(input,
                outputs == 1 ? Tensors(dense("a")) : Tensors{{"a", dense("a")}, {"b", dense("b")}});
    int64_t seed = 1;
    for (const Variable& weight : model.weights()) {
      weight.assign(random::normal(weight.shape(), {.dtype = DType::Float64, .seed = seed++}));
    }
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.005}),
                   .loss = outputs == 1 ? PerOutput<Loss>(by_example)
                                        : PerOutput<Loss>{{"a", by_example}, {"b", "mse"}}});
    const Tensor x = random::normal({11, 3}, {.dtype = DType::Float64, .seed = 8});
    const Tensor y = random::normal({11, 2}, {.dtype = DType::Float64, .seed = 9});
    const Tensors targets = outputs == 1 ? Tensors(y) : Tensors{{"a", y}, {"b", 2 * y}};
    Outcome outcome;
    outcome.history =
        model.fit(x, targets, {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
    outcome.evaluated = model.evaluate(x, targets, {.batch_size = 4, .verbose = 0});
    outcome.weights = model.get_weights();
    return outcome;
  };
  for (const int outputs : {1, 2}) {
    for (const bool regularized : {false, true}) {
      CAPTURE(outputs);
      CAPTURE(regularized);
      const Outcome expected = train(outputs, regularized);
      for (const StrategyKind& kind : strategy_kinds()) {
        for (const int replicas : replica_counts()) {
          CAPTURE(kind.name);
          CAPTURE(replicas);
          const Strategy strategy = kind.make(replicas);
          const auto scope = strategy.scope();
          check_same(train(outputs, regularized), expected);
        }
      }
    }
  }
}

// Any number of examples in batches of any size: the last ones are uneven, or leave replicas
// without data.
TEST_CASE("all sizes of data and batches") {
  auto make = [] {
    Sequential model({Input({.shape = {3}, .dtype = DType::Float64}),
                      layers::Dense({.units = 4, .activation = "tanh", .dtype = "float64"}),
                      layers::Dropout({.rate = 0.5, .seed = 5, .dtype = "float64"}),
                      layers::Dense({.units = 2, .dtype = "float64"})});
    int64_t seed = 1;
    for (const Variable& weight : model.weights()) {
      weight.assign(random::normal(weight.shape(), {.dtype = DType::Float64, .seed = seed++}));
    }
    return model;
  };
  auto train = [&](int64_t rows, int64_t batch) {
    Sequential model = make();
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.05}),
                   .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {accuracy()},
                   .weighted_metrics = {crossentropy()}});
    set_random_seed(rows);
    const Tensor x = random::normal({rows, 3}, {.dtype = DType::Float64, .seed = 8});
    const Tensor y = random::randint({rows}, 0, 2, {.seed = 9});
    Outcome outcome;
    outcome.history = model.fit(
        x, y,
        {.batch_size = batch, .epochs = 2, .verbose = 0, .class_weight = {{0, 0.5}, {1, 2.0}}});
    outcome.evaluated = model.evaluate(x, y, {.batch_size = batch, .verbose = 0});
    outcome.predicted = model.predict(x, {.batch_size = batch, .verbose = 0}).list();
    outcome.weights = model.get_weights();
    return outcome;
  };
  PhiloxEngine random(2026);
  for (int64_t rows = 1; rows <= 67; rows += testing::cases(1, 3)) {
    const auto batch = static_cast<int64_t>(1 + random.below(16));
    const auto& kind = strategy_kinds()[random.below(strategy_kinds().size())];
    const int replicas = replica_counts()[random.below(replica_counts().size())];
    CAPTURE(rows);
    CAPTURE(batch);
    CAPTURE(kind.name);
    CAPTURE(replicas);
    const Outcome expected = train(rows, batch);
    const Strategy strategy = kind.make(replicas);
    const auto scope = strategy.scope();
    check_same(train(rows, batch), expected);
  }
}

TEST_CASE("no data at all is the error it is on one device") {
  const Strategy strategy = strategy_kinds()[0].make(replicas_or_all(2));
  const auto scope = strategy.scope();
  Model model = make_model(Normalization::Plain);
  CHECK(test::error_of([&] {
          fit(model, {.examples = 0});
        }).find("expected at least one sample, got arrays of none") != std::string::npos);
}

TEST_CASE("compile and fit outside of the scope that a model was made in") {
  const Strategy strategy = strategy_kinds()[0].make(replicas_or_all(2));
  auto make = [&] {
    const auto scope = strategy.scope();
    return make_model(Normalization::Synchronized);
  };
  Model model = make();
  CHECK_FALSE(has_strategy());
  check_same(fit(model, {}), on_one_device(Normalization::Plain, 1, {}));
}

TEST_CASE("a model saved under one strategy goes on under another") {
  const test::Scratch folder;
  const std::string path = test::of_first_worker(folder.path("model.keras"));
  auto first_half = [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    Model model = make_model(Normalization::Synchronized);
    fit(model, {.epochs = 2});
    model.save(path);  // of several workers, only the chief writes
    test::of_first_worker("saved");
    return model.get_weights();
  };
  auto second_half = [&](const Strategy& strategy) {
    const auto scope = strategy.scope();
    Model model = load_model(path);
    const Examples examples = make_examples(20);
    const Tensors targets = {{"kind", examples.kind}, {"size", examples.size}};
    model.fit(examples.x, targets, {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false});
    return model.get_weights();
  };
  const Strategy one = distribute::OneDeviceStrategy("CPU:0");
  for (const StrategyKind& kind : strategy_kinds()) {
    CAPTURE(kind.name);
    const std::vector<Tensor> halfway = first_half(one);
    const std::vector<Tensor> expected = second_half(one);
    CHECK(distance(second_half(kind.make(replicas_or_all(3))), expected) < 1e-9);
    CHECK(distance(first_half(kind.make(replicas_or_all(2))), halfway) < 1e-9);
    CHECK(distance(second_half(one), expected) < 1e-9);
    CHECK(distance(second_half(kind.make(replicas_or_all(2))), expected) < 1e-9);
  }
}
