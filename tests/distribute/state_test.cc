// SPDX-License-Identifier: Apache-2.0
// Variables that replicas read and assign: versions, aggregation, assignments in loops.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "framework/core/variable_access.h"
#include "tests/distribute/models.h"
#include "tests/support/errors.h"

using namespace cornu;
using distribute::get_replica_context;
using distribute::PerReplica;
using test::divided;
using test::floats;
using test::mirrored;
using test::replicated;

namespace {

std::vector<float> numbers(const Tensor& tensor) { return tensor.to_vector<float>(); }

PerReplica parts(const Strategy& strategy, std::vector<std::vector<float>> values) {
  std::vector<Tensors> result;
  for (auto& own : values) result.emplace_back(floats(std::move(own)));
  return test::own_of(strategy, result);
}

Variable variable(VariableAggregation aggregation, float value = 1,
                  VariableSynchronization synchronization = VariableSynchronization::Auto) {
  return Variable(floats({value}), {.name = "v",
                                    .trainable = false,
                                    .synchronization = synchronization,
                                    .aggregation = aggregation});
}

}  // namespace

TEST_CASE("a run finds one version of a variable, whoever assigns it before") {
  for (const bool writes : {false, true}) {
    CAPTURE(writes);
    const Variable w = variable(VariableAggregation::None);
    const auto bound = Variable::of_replicas({&w, 1}, 3);
    w.assign(floats({5}));  // between the binding and the run
    {
      VariableAccess access;
      for (const auto& own : bound) access.add(own[0], writes);
      access.acquire();
      for (size_t i = 0; i < 3; ++i) {
        CHECK(*reinterpret_cast<const float*>(access.memory(i)) == 5);
        if (writes) *reinterpret_cast<float*>(access.memory(i)) = 7;
      }
    }
    const float expected = writes ? 7 : 5;
    CHECK(numbers(w.value()) == std::vector<float>{expected});
    for (const Tensor& value : w.replica_values()) {
      CHECK(numbers(value) == std::vector<float>{expected});
    }
  }
}

TEST_CASE("what replicas keep apart is neither lost nor doubled when it is assigned before a run") {
  for (const auto aggregation : {VariableAggregation::Sum, VariableAggregation::Mean}) {
    const Variable v = variable(aggregation, 1, VariableSynchronization::OnRead);
    const auto bound = Variable::of_replicas({&v, 1}, 2);
    v.assign(floats({10}));
    {
      VariableAccess access;
      for (const auto& own : bound) access.add(own[0], true);
      access.acquire();
      for (size_t i = 0; i < 2; ++i) *reinterpret_cast<float*>(access.memory(i)) += 3;
    }
    const float expected = aggregation == VariableAggregation::Sum ? 16 : 13;
    CHECK(numbers(v.value()) == std::vector<float>{expected});
    v.gather();
    CHECK(numbers(v.value()) == std::vector<float>{expected});
  }
}

TEST_CASE("predictions have one version of the weights on all replicas") {
  const auto strategy = mirrored(2);
  const auto scope = strategy.scope();
  Sequential model({Input({.shape = {1}}), layers::Dense({.units = 1, .use_bias = false})});
  const Variable kernel = model.weights()[0];
  const Tensor x = ops::ones({2, 1});
  model.predict(x, {.verbose = 0});
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (float value = 0; !stop; ++value) kernel.assign(ops::full({1, 1}, value));
  });
  for (int i = 0; i < 300; ++i) {
    const std::vector<float> y = numbers(model.predict(x, {.verbose = 0}).single());
    CHECK(y[0] == y[1]);
  }
  stop = true;
  writer.join();
}

// tf.VariableAggregation.SUM: the updates are summed.
TEST_CASE("sums of what replicas assign, and of what they add") {
  const auto strategy = replicated(3);
  const auto scope = strategy.scope();
  const PerReplica values = parts(strategy, {{1}, {2}, {6}});
  auto result = [&](const std::function<void(const Variable&, const Tensor&)>& body) {
    const Variable v = variable(VariableAggregation::Sum, 100);
    strategy.run(function([&](const Tensor& x) { body(v, x); }), values);
    for (const Tensor& own : v.replica_values()) CHECK(numbers(own) == numbers(v.value()));
    return v.item<float>();
  };
  CHECK(result([](const Variable& v, const Tensor& x) { v.assign(x); }) == 9);
  CHECK(result([](const Variable& v, const Tensor& x) { v.assign_add(x); }) == 109);
  CHECK(result([](const Variable& v, const Tensor& x) { v.assign_sub(x); }) == 91);
  CHECK(result([](const Variable& v, const Tensor& x) {
          v.assign_add(x);
          v -= 2 * x;
        }) == 91);
  CHECK(result([](const Variable& v, const Tensor& x) {
          v.assign(x);
          v.assign_add(x);
        }) == 18);
  CHECK(result([](const Variable& v, const Tensor& x) {
          v.assign_add(x);
          v.assign(x);
        }) == 9);
  CHECK(result([](const Variable& v, const Tensor& x) {
          v.update([&](const Tensor& before) { return before + x; });
        }) == 309);
  // All replicas already share the value that a merge_call assigns.
  CHECK(result([](const Variable& v, const Tensor& x) {
          get_replica_context().merge_call([&](const Strategy&, const PerReplica&) -> Tensors {
            v.assign(floats({50}));
            return {};
          });
          v.assign_add(x);
        }) == 59);
  // Within branches and loops, too.
  CHECK(result([](const Variable& v, const Tensor& x) {
          ops::cond(
              ops::squeeze(x) > 1, [&] { return v.assign_add(x), x; }, [&] { return x; });
        }) == 108);
  CHECK(result([](const Variable& v, const Tensor& x) {
          ops::fori_loop(
              0, 3, [&](const Tensor&, const Tensor& y) { return v.assign_add(x), y; }, x);
        }) == 127);
  CHECK(result([](const Variable& v, const Tensor& x) {
          ops::fori_loop(
              0, 3, [&](const Tensor&, const Tensor& y) { return v.assign(x), y; }, x);
        }) == 9);
}

TEST_CASE("a loop whose turns assign the value that was there assigns it") {
  const auto strategy = replicated(3);
  const auto scope = strategy.scope();
  const Variable mean = variable(VariableAggregation::Mean, 8);
  const Function step = function([&](const Tensor& x) {
    return ops::scan(
               [&](const Tensor& carry, const Tensor& turn) {
                 mean.assign(x.dim(0) > 0 ? ops::mean(x, 0, true) : mean.value());
                 return std::pair(carry + turn, Tensor());
               },
               Tensor(0.0f), floats({1, 2, 3}))
        .first;
  });
  strategy.run(step, parts(strategy, {{2, 4}, {7}, {}}));
  CHECK(numbers(mean.value()) == std::vector<float>{5});
  // An iteration that assigns the unchanged value counts as an assignment.
  const Variable sum = variable(VariableAggregation::Sum, 8);
  const Function keeps = function([&](const Tensor& x) {
    ops::fori_loop(
        0, 2, [&](const Tensor&, const Tensor& y) { return sum.assign(sum.value()), y; }, x);
  });
  strategy.run(keeps, parts(strategy, {{1}, {1}, {1}}));
  CHECK(numbers(sum.value()) == std::vector<float>{24});
}

TEST_CASE("batch normalization within a scan") {
  auto train = [](const Strategy& strategy, int64_t rows) {
    const auto scope = strategy.scope();
    const layers::BatchNormalization normalize({.momentum = 0.5, .synchronized = true});
    normalize(ops::zeros({1, 2}));
    const Function step = function([&](const Tensor& x) {
      return ops::scan(
                 [&](const Tensor& carry, const Tensor& turn) {
                   return std::pair(carry + turn, normalize(x * turn, {.training = true}));
                 },
                 Tensor(0.0f), floats({1, 2, 3}))
          .first;
    });
    const Tensor x = random::normal({rows, 2}, {.seed = 3});
    strategy.run(step, divided(strategy, x));
    std::vector<Tensor> result;
    for (const Variable& v : normalize.variables()) result.push_back(v.value());
    return result;
  };
  for (const int64_t rows : {1, 2, 5}) {
    CAPTURE(rows);
    CHECK(test::distance(train(mirrored(3), rows), train(get_strategy(), rows)) < 1e-6);
  }
}

TEST_CASE("jit_compile = false: replicas of a central storage run no passes either") {
  const auto train = [](const Strategy& strategy) {
    set_random_seed(3);
    const auto scope = strategy.scope();
    Sequential model({layers::Dense({.units = 64, .activation = "relu", .dtype = "mixed_bfloat16"}),
                      layers::Dense({.units = 64, .activation = "relu", .dtype = "mixed_bfloat16"}),
                      layers::Dense({.units = 3})});
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.05}),
                   .loss = "mse",
                   .jit_compile = false});
    model.fit(random::normal({23, 4}, {.seed = 3}), random::normal({23, 3}, {.seed = 4}),
              {.batch_size = 6, .epochs = 3, .verbose = 0, .shuffle = false});
    std::vector<std::vector<float>> weights;
    for (const Tensor& weight : model.get_weights()) weights.push_back(numbers(weight));
    return weights;
  };
  CHECK(train(distribute::CentralStorageStrategy({.compute_devices = test::devices(3)})) ==
        train(mirrored(3)));
}
