// SPDX-License-Identifier: Apache-2.0
// Uneven or empty parts of a batch with figures that aren't computed per example, and values that
// replicas keep apart.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "tests/distribute/models.h"
#include "tests/support/files.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using distribute::get_replica_context;
using distribute::PerReplica;
using test::devices;
using test::distance;
using test::error_of;
using test::strategy_kinds;
using test::StrategyKind;

namespace {

// Adds a loss that is a single figure for the whole batch.
class Penalty : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override {
    add_loss(ops::mean(ops::square(x)) * 0.1);
    return x;
  }
};

struct Outcome {
  std::vector<Tensor> weights;
  History history;
};

// Trains with a loss that is one figure per batch, and a metric of the same kind.
Outcome train(int64_t rows, int64_t batch_size) {
  const Tensor input = Input({.shape = {3}, .dtype = DType::Float64});
  const Tensor hidden =
      layers::Dense({.units = 2, .kernel_regularizer = regularizers::L2(0.1), .dtype = "float64"})(
          make_layer<Penalty>()(input));
  Model model(input, layers::Dense({.units = 1, .dtype = "float64"})(hidden));
  int64_t seed = 1;
  for (const Variable& weight : model.weights()) {
    weight.assign(random::normal(weight.shape(), {.dtype = DType::Float64, .seed = seed++}));
  }
  auto figure = [](const Tensor& y, const Tensor& p) { return ops::mean(ops::square(y - p)); };
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.05}),
                 .loss = Loss(figure),
                 .metrics = {Metric("figure", figure)}});
  const Tensor x = random::normal({rows, 3}, {.dtype = DType::Float64, .seed = 8});
  const Tensor y = random::normal({rows, 1}, {.dtype = DType::Float64, .seed = 9});
  Outcome outcome;
  outcome.history =
      model.fit(x, y, {.batch_size = batch_size, .epochs = 2, .verbose = 0, .shuffle = false});
  outcome.weights = model.get_weights();
  return outcome;
}

}  // namespace

TEST_CASE("one figure for a whole batch is weighed by the examples of its parts") {
  for (const auto& sizes : {std::pair{5, 4}, {1, 1}, {7, 7}, {8, 3}}) {
    const int rows = sizes.first;
    const int batch = sizes.second;
    const Outcome expected = train(rows, batch);
    for (const StrategyKind& kind : strategy_kinds()) {
      for (const int replicas : test::replica_counts()) {
        CAPTURE(kind.name);
        CAPTURE(replicas);
        CAPTURE(rows);
        const Strategy strategy = kind.make(replicas);
        const auto scope = strategy.scope();
        const Outcome outcome = train(rows, batch);
        CHECK(distance(outcome.weights, expected.weights) < 1e-9);
        for (const auto& entry : expected.history) {
          CAPTURE(entry.first);
          for (size_t i = 0; i < entry.second.size(); ++i) {
            CHECK(outcome.history[entry.first][i] == doctest::Approx(entry.second[i]));
          }
        }
      }
    }
  }
}

TEST_CASE("gradients of a replica without examples count nothing, whatever they are") {
  const distribute::MirroredStrategy strategy({.devices = devices(2)});
  const auto scope = strategy.scope();
  const Variable w(ops::ones({}), {.name = "w"});
  const optimizers::SGD optimizer({.learning_rate = 0.1});
  const Function step = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor loss = by_share_of_examples(ops::mean(x) * w);  // NaN without examples
    optimizer.apply_gradients({tape.gradient(loss, w)}, {w});
    return loss;
  });
  const Tensor x = Tensor::from(std::vector<float>{2});
  strategy.run(step, PerReplica({Tensors(x), Tensors(x(Slice(0, 0)))}));
  CHECK(w.value().item<float>() == doctest::Approx(0.8));
}

TEST_CASE("a gradient of one replica that isn't finite skips the step of all") {
  const distribute::MirroredStrategy strategy({.devices = devices(2)});
  const auto scope = strategy.scope();
  const Variable w(ops::ones({}), {.name = "w"});
  const optimizers::LossScaleOptimizer optimizer(
      {.inner_optimizer = optimizers::SGD({.learning_rate = 0.1}), .initial_scale = 8.0});
  const Function step = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor loss = optimizer.impl().scale_loss(by_share_of_examples(ops::mean(x)) * w);
    optimizer.apply_gradients({tape.gradient(loss, w)}, {w});
    return loss;
  });
  auto run = [&](float first, float second) {
    strategy.run(step,
                 PerReplica({Tensors(test::floats({first})), Tensors(test::floats({second}))}));
    return w.value().item<float>();
  };
  CHECK(run(1, 3) == doctest::Approx(0.8));
  CHECK(run(1, INFINITY) == doctest::Approx(0.8));
  CHECK(run(NAN, 1) == doctest::Approx(0.8));
  CHECK(optimizer.iterations() == 1);
  CHECK(optimizer.variables()[3].value().item<float>() == 2.0f);  // 8 / 2 / 2
  CHECK(run(2, 2) == doctest::Approx(0.6));
}

TEST_CASE("a whole batch without examples leaves averages alone") {
  const distribute::MirroredStrategy strategy({.devices = devices(2)});
  const auto scope = strategy.scope();
  for (const bool synchronized : {false, true}) {
    CAPTURE(synchronized);
    layers::BatchNormalization layer({.synchronized = synchronized});
    const Function step = function([&](const Tensor& x) { return layer(x, {.training = true}); });
    const Tensor x = random::normal({4, 3}, {.seed = 1});
    strategy.run(step, Tensors(x));
    const std::vector<Tensor> before = layer.get_weights();
    strategy.run(step, Tensors(x(Slice(0, 0))));
    if (!synchronized) CHECK(distance(layer.get_weights(), before) == 0);
    for (const Tensor& weight : layer.get_weights()) {
      for (const float value : weight.to_vector<float>()) CHECK(std::isfinite(value));
    }
  }
}

TEST_CASE("noise that isn't made for examples") {
  const distribute::MirroredStrategy strategy({.devices = devices(2)});
  const Function step = function([](const Tensor& x) {
    return std::vector<Tensor>{
        random::normal({7}),         // of no example
        random::uniform({3, 4, 2}),  // nor this, with 2 examples per replica
        random::beta({5}, 2.0, 3.0),
        random::dropout(ops::ones({x.dim(0), 64}), 0.5, {.noise_shape = Shape{1, 64}}),
    };
  });
  for (const int64_t rows : {4, 2}) {
    CAPTURE(rows);
    const Tensor x = ops::zeros({rows / 2, 3});
    const PerReplica drawn = strategy.run(step, Tensors(x));
    for (size_t k = 0; k < 3; ++k) {
      CAPTURE(k);
      CHECK(distance(drawn[0][k], drawn[1][k]) > 0);
    }
    CHECK(distance(drawn[0][3], drawn[1][3]) == 0);  // shared by all examples
  }
  // Parts of different sizes draw different numbers, too.
  const Function wide = function([](const Tensor& x) {
    return random::uniform({5, x.dim(0)}, {.seed = 4});
  });
  const PerReplica uneven =
      strategy.run(wide, PerReplica({Tensors(ops::zeros({3, 1})), Tensors(ops::zeros({2, 1}))}));
  const auto first = uneven[0][0].to_vector<float>();
  for (const float value : uneven[1][0].to_vector<float>()) {
    CHECK(std::ranges::find(first, value) == first.end());
  }
  // For the same examples, a loop draws the same numbers as on one device.
  const Function loop = function([](const Tensor& x) {
    return ops::map([](const Tensor& row) { return row + random::uniform(row.shape()); },
                    ops::transpose(x));
  });
  const Tensor x = ops::zeros({4, 3});
  set_random_seed(5);
  const Tensor expected = loop(x);
  set_random_seed(5);
  const PerReplica parts =
      strategy.run(loop, PerReplica({Tensors(x(Slice(0, 2))), Tensors(x(Slice(2, 4)))}));
  CHECK(distance(ops::concatenate({parts[0].single(), parts[1].single()}, 1), expected) == 0);
}

TEST_CASE("reading what replicas keep apart changes nothing") {
  const distribute::MirroredStrategy strategy({.devices = devices(2)});
  const auto scope = strategy.scope();
  const Variable first(ops::zeros({}), {.name = "first",
                                        .trainable = false,
                                        .synchronization = VariableSynchronization::OnRead,
                                        .aggregation = VariableAggregation::OnlyFirstReplica});
  const Variable sum(ops::zeros({}), {.name = "sum",
                                      .trainable = false,
                                      .synchronization = VariableSynchronization::OnRead,
                                      .aggregation = VariableAggregation::Sum});
  const Function step = function([&](const Tensor& x) {
    first.assign_add(ops::sum(x));
    sum.assign_add(ops::sum(x));
    return first.value();
  });
  const PerReplica values({Tensors(ops::full({1}, 1.0)), Tensors(ops::full({1}, 3.0))});
  for (int i = 1; i <= 3; ++i) {
    const PerReplica own = strategy.run(step, values);
    CHECK(own[0].single().item<int>() == i);
    CHECK(own[1].single().item<int>() == 3 * i);
    CHECK(first.item<int>() == i);
    CHECK(sum.item<int>() == 4 * i);
  }
  sum.assign_add(ops::ones({}));  // outside of steps it is a single value
  CHECK(sum.item<int>() == 13);
  strategy.run(step, values);
  CHECK(sum.item<int>() == 17);
}

TEST_CASE("evaluations of one model by several threads") {
  for (const StrategyKind& kind : strategy_kinds()) {
    CAPTURE(kind.name);
    const Strategy strategy = kind.make(2);
    const auto scope = strategy.scope();
    Sequential model({Input({.shape = {3}}), layers::Dense({.units = 2})});
    model.compile({.loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
    const Tensor x = random::normal({40, 3}, {.seed = 1});
    const Tensor y = random::randint({40}, 0, 2, {.seed = 2});
    auto evaluate = [&] { return model.evaluate(x, y, {.batch_size = 7, .verbose = 0}); };
    const Logs expected = evaluate();
    std::vector<Logs> seen(12);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = t; i < seen.size(); i += 3) seen[i] = evaluate();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Logs& logs : seen) {
      CHECK(logs["loss"] == expected["loss"]);
      CHECK(logs["accuracy"] == expected["accuracy"]);
    }
  }
}

TEST_CASE("variables that take the first replica's value, and those assigned in a merge_call") {
  const distribute::MirroredStrategy strategy({.devices = devices(3)});
  const auto scope = strategy.scope();
  auto variable = [](VariableAggregation aggregation) {
    return Variable(Tensor::scalar(int64_t{5}),
                    {.name = "v", .trainable = false, .aggregation = aggregation});
  };
  const Variable first = variable(VariableAggregation::OnlyFirstReplica);
  const Variable sum = variable(VariableAggregation::Sum);
  const Function step = function([&](const Tensor& x) {
    first.assign(ops::sum(x));
    return get_replica_context().merge_call(
        [&](const Strategy& given, const PerReplica& values) -> Tensors {
          sum.assign_add(given.reduce(ReduceOp::Sum, values));
          return first.value();
        },
        ops::sum(x));
  });
  const Function read = function([&](const Tensor& x) { return first.value() + ops::sum(x) * 0; });
  std::vector<Tensors> values;
  for (const int64_t i : {7, 8, 9}) values.emplace_back(Tensor::from(std::vector<int64_t>{i}));
  strategy.run(step, PerReplica(values));
  for (const Tensors& own : strategy.run(read, PerReplica(values)).values()) {
    CHECK(own.single().item<int64_t>() == 7);
  }
  CHECK(sum.item<int64_t>() == 5 + 24);
  const Variable mean = variable(VariableAggregation::Mean);
  const Function wrong = function([&](const Tensor& x) { mean.assign(ops::sum(x)); });
  CHECK(
      error_of([&] { strategy.run(wrong, PerReplica(values)); }) ==
      "InvalidArgument: Variable 'v': expected a floating-point dtype for the aggregation Mean of "
      "what replicas assign, got int64.");
}

TEST_CASE("a metric that asks another one") {
  const distribute::MirroredStrategy strategy({.devices = devices(3)});
  const auto scope = strategy.scope();
  class Doubled : public MetricImpl {
   public:
    Doubled() : MetricImpl("doubled") {}
    void update_state(const Tensor&, const Tensor&, const Tensor&) override {}
    void update_values(const Tensor& values, const Tensor&) override {
      inner_.update_state(values);
    }
    Tensor result() const override { return inner_.result() * 2; }
    const std::vector<Variable>& variables() const override { return inner_.impl().variables(); }

   private:
    metrics::Sum inner_;
  };
  const auto metric = make_metric<Doubled>();
  const Function step = function([&](const Tensor& x) {
    metric.update_state(x);
    return metric.result();
  });
  const PerReplica results = strategy.run(step, Tensors(ops::ones({2})));
  for (const Tensors& own : results.values()) CHECK(own.single().item<int>() == 12);
}

TEST_CASE("a step knows its strategy outside of the scope, too") {
  const distribute::MirroredStrategy strategy({.devices = devices(2)});
  int64_t seen = 0;
  const Function step = function([&](const Tensor& x) {
    seen = get_strategy().num_replicas_in_sync();
    return x;
  });
  strategy.run(step, Tensors(ops::ones({2})));
  CHECK(seen == 2);
}

TEST_CASE("what isn't there") {
  const distribute::MirroredStrategy strategy({.devices = devices(2)});
  CHECK(error_of([&] { strategy.distribute_dataset(nullptr); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': distribute_dataset expected a dataset, got "
        "none.");
  const PerReplica two({Tensors(ops::ones({1})), Tensors(ops::ones({3}))});
  CHECK(error_of([&] { two[2]; }) ==
        "OutOfRange: PerReplica: expected a replica in [0, 2), got 2.");
  CHECK(error_of([&] { strategy.reduce(ReduceOp::Mean, two); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': reduce expected values of one shape, got "
        "(1,) and (3,). Reduce along an axis, or gather them.");
  const PerReplica bytes({Tensors(Tensor::from(std::vector<uint8_t>{200})),
                          Tensors(Tensor::from(std::vector<uint8_t>{100}))});
  CHECK(strategy.reduce(ReduceOp::Mean, bytes).item<float>() == 150);
  const distribute::MirroredStrategy broken(
      {.devices = devices(2), .cross_device_ops = distribute::CrossDeviceOps("Broken", [](int) {
                                return std::vector<std::unique_ptr<CollectiveGroup>>();
                              })});
  const Function step = function([](const Tensor& x) { return x; });
  CHECK(error_of([&] { broken.run(step, Tensors(ops::ones({1}))); })
            .starts_with("InvalidArgument: Strategy 'MirroredStrategy': cross_device_ops 'Broken' "
                         "made 0 ends of a group for 2 replicas"));
}

TEST_CASE("whatever exchanges tensors, the sums are the same, and where NCCL isn't is told") {
  using namespace distribute;
  for (const CrossDeviceOps& way :
       {CrossDeviceOps(), CrossDeviceOps(HierarchicalCopyAllReduce()),
        CrossDeviceOps(ReductionToOneDevice()), CrossDeviceOps(NcclAllReduce())}) {
    CAPTURE(way.name());
    const test::Log log;
    const MirroredStrategy strategy({"CPU:0", "CPU:1"}, way);
    const Function step = function(
        [](const Tensor& x) { return get_replica_context().all_reduce(ReduceOp::Sum, x); });
    const PerReplica sums =
        strategy.run(step, PerReplica({Tensors(ops::ones({5})), Tensors(ops::ones({5}) * 2)}));
    for (size_t replica = 0; replica < 2; ++replica) {
      CHECK(sums[replica].single().to_vector<float>() == std::vector<float>(5, 3));
    }
    CHECK(testing::contains(log.text(), "NcclAllReduce: there is no NCCL between these devices") ==
          (way.name() == "NcclAllReduce"));
  }
}

TEST_CASE("functions that are missing") {
  CHECK(
      error_of([] { distribute::CrossDeviceOps("Mine", nullptr); }) ==
      "InvalidArgument: CrossDeviceOps 'Mine': expected a function that makes a group, got none.");
  CHECK(error_of([] { distribute::get_replica_context().merge_call(nullptr); }) ==
        "InvalidArgument: merge_call: expected a function, got none.");
}
