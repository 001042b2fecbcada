// SPDX-License-Identifier: Apache-2.0
// Traced steps on several replicas in parallel: all_reduce in the graph, training, failures. The
// strategy is MirroredStrategy.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <string>

#include "framework/graph/launches.h"
#include "framework/strategy/in_process_group.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using distribute::get_replica_context;
using distribute::PerReplica;
using test::distance;
using test::error_of;

namespace {

Strategy mirrored(int replicas) {
  std::vector<std::string> devices;
  for (int i = 0; i < replicas; ++i) devices.push_back(fmt::format("CPU:{}", i));
  return distribute::MirroredStrategy({.devices = devices});
}

// The parts of a batch, as arguments (x, y) of a step.
PerReplica divided(const Strategy& strategy, const Tensor& x, const Tensor& y) {
  std::vector<Tensors> parts;
  for (const Batch& part : strategy.impl().split({.x = x, .y = y, .sample_weight = {}})) {
    parts.push_back({part.x.single(), part.y.single()});
  }
  return PerReplica(std::move(parts));
}

// Integers from -2 to 2, so that sums of their products have no rounding errors.
Tensor small_integers(const Shape& shape, int64_t seed) {
  return ops::cast(random::randint(shape, -2, 3, {.seed = seed}), DType::Float32);
}

// One gradient descent step on a linear model. Returns the loss and the gradients over all
// replicas.
Function training_step(const Variable& kernel, const Variable& bias) {
  return function(
      [=](const Tensor& x, const Tensor& y) {
        GradientTape tape;
        const Tensor loss = ops::sum(ops::square(ops::matmul(x, kernel) + bias - y));
        std::vector<Tensor> sums = tape.gradient(loss, {kernel, bias});
        sums.push_back(loss);
        sums = get_replica_context().all_reduce(ReduceOp::Sum, sums);
        kernel.assign(kernel - 0.125 * sums[0]);
        bias.assign(bias - 0.125 * sums[1]);
        return sums;
      },
      {.name = "training_step"});
}

// Each replica's value of a variable.
std::vector<Tensor> values_of(const Strategy& strategy, const Variable& variable) {
  const Function read = function([&] { return variable.value(); });
  std::vector<Tensor> values;
  for (const Tensors& value : strategy.run(read, Tensors()).values()) {
    values.push_back(value.single());
  }
  return values;
}

// A step whose labels may be out of range, on any replica.
const Tensor kLogits = ops::zeros({1, 3});
Tensors arguments(int32_t label) { return {kLogits, Tensor::from(std::vector<int32_t>{label})}; }
Tensor loss_of(const Tensor& logits, const Tensor& labels) {
  return ops::sum(ops::sparse_softmax_cross_entropy(logits, labels).first);
}

}  // namespace

TEST_CASE("all_reduce in a traced step") {
  for (int replicas = 1; replicas <= 4; ++replicas) {
    const Strategy strategy = mirrored(replicas);
    for (const int64_t size : {0, 1, 7, 1000}) {
      CAPTURE(replicas);
      CAPTURE(size);
      const Function step = function([](const Tensor& x) {
        const auto replica = get_replica_context();
        return std::vector<Tensor>{
            replica.all_reduce(ReduceOp::Sum, x * 2), replica.all_reduce(ReduceOp::Mean, x),
            replica.all_reduce(ReduceOp::Min, x), replica.all_reduce(ReduceOp::Max, x + 1)};
      });
      std::vector<Tensors> inputs;
      Tensor sum = ops::zeros({size});
      Tensor least = ops::full({size}, 9.0);
      Tensor most = ops::full({size}, -9.0);
      for (int i = 0; i < replicas; ++i) {
        const Tensor x = small_integers({size}, i);
        inputs.emplace_back(x);
        sum = sum + x;
        least = ops::minimum(least, x);
        most = ops::maximum(most, x);
      }
      for (int round = 0; round < 3; ++round) {
        const PerReplica results = strategy.run(step, PerReplica(inputs));
        for (const Tensors& result : results.values()) {
          CHECK(distance(result[0], sum * 2) == 0);
          CHECK(distance(result[1], sum / replicas) < 1e-6);
          CHECK(distance(result[2], least) == 0);
          CHECK(distance(result[3], most + 1) == 0);
        }
      }
      CHECK(step.trace_count() == 1);
    }
  }
}

TEST_CASE("a step knows its replicas while it is traced, and nobody else does") {
  const Strategy strategy = mirrored(2);
  int64_t inside = 0;
  bool fails = false;
  const Function step = function([&](const Tensor& x) {
    inside = get_replica_context().num_replicas_in_sync();
    check<Internal>(!fails, "on purpose");
    return x;
  });
  strategy.run(step, Tensors(ops::ones({2})));
  CHECK(inside == 2);
  CHECK(get_replica_context().num_replicas_in_sync() == 1);
  fails = true;
  CHECK_THROWS_AS(strategy.run(step, Tensors(ops::ones({3}))), Internal);
  CHECK(get_replica_context().num_replicas_in_sync() == 1);
}

TEST_CASE("halves of a batch on two replicas train as the whole batch on one") {
  const Tensor x = small_integers({8, 3}, 1);
  const Tensor y = small_integers({8, 2}, 2);
  auto train = [&](const Strategy& strategy) {
    const Variable kernel(small_integers({3, 2}, 3), {.name = "kernel"});
    const Variable bias(ops::zeros({2}), {.name = "bias"});
    const Function step = training_step(kernel, bias);
    std::vector<Tensor> seen;
    for (int i = 0; i < 2; ++i) {  // later steps would round
      const PerReplica results = strategy.run(step, divided(strategy, x, y));
      for (const Tensors& result : results.values()) {
        for (size_t k = 0; k < 3; ++k) CHECK(distance(result[k], results[0][k]) == 0);
      }
      seen.insert(seen.end(), results[0].begin(), results[0].end());
    }
    for (const Variable& variable : {kernel, bias}) {
      for (const Tensor& value : values_of(strategy, variable)) {
        CHECK(distance(value, variable.value()) == 0);
      }
      seen.push_back(variable.value());
    }
    return seen;
  };
  const std::vector<Tensor> whole = train(get_strategy());
  for (const int replicas : {1, 2, 4}) {
    CAPTURE(replicas);
    const std::vector<Tensor> parts = train(mirrored(replicas));
    REQUIRE(parts.size() == whole.size());
    for (size_t i = 0; i < whole.size(); ++i) CHECK(distance(parts[i], whole[i]) == 0);
  }
  CHECK(distance(whole[0], whole[3]) > 0);  // the gradients of two different steps
}

TEST_CASE("what is assigned between steps reaches every replica") {
  const Strategy strategy = mirrored(3);
  const Variable w(ops::zeros({2}), {.name = "w"});
  const Function step = function(
      [&](const Tensor& x) { w.assign(w + get_replica_context().all_reduce(ReduceOp::Sum, x)); });
  strategy.run(step, Tensors(ops::ones({2})));
  CHECK(w.value().to_vector<float>() == std::vector<float>{3, 3});
  w.assign(ops::full({2}, 10.0));
  strategy.run(step, Tensors(ops::ones({2})));
  for (const Tensor& value : values_of(strategy, w)) {
    CHECK(value.to_vector<float>() == std::vector<float>{13, 13});
  }
}

TEST_CASE("a replica that fails doesn't leave the others waiting") {
  const Strategy strategy = mirrored(3);
  const Variable w(ops::zeros({}), {.name = "w"});
  const Function step = function([&](const Tensor& logits, const Tensor& labels) {
    const Tensor loss = get_replica_context().all_reduce(ReduceOp::Sum, loss_of(logits, labels));
    w.assign(w + loss);
    return loss;
  });
  for (size_t bad = 0; bad < 3; ++bad) {
    std::vector<Tensors> inputs(3, arguments(1));
    inputs[bad] = arguments(7);
    // The cause, not the errors it led to in the other replicas.
    CHECK_THROWS_AS(strategy.run(step, PerReplica(inputs)), InvalidArgument);
    CHECK(w.value().item<float>() == static_cast<float>(bad) * 3 * std::log(3.0f));  // unchanged
    strategy.run(step, arguments(2));
  }
  CHECK(step.trace_count() == 1);
}

// An exception in one replica reaches the others as Aborted; the program sees the original
// exception with all its details.
TEST_CASE("a replica that loses a peer is the cause, behind what it made of the others") {
  constexpr int kReplicas = 3;
  // Returns the exception of the run when one replica throws while the others wait for it.
  const auto run = [](size_t bad, const std::function<void()>& fail) {
    const auto group = make_in_process_group(kReplicas);
    std::vector<Launch> launches(kReplicas);
    for (size_t i = 0; i < launches.size(); ++i) launches[i].group = group[i].get();
    LaunchRun all(launches, [](const Executable&, size_t) { return false; });
    std::atomic<int> aborted = 0;
    try {
      all([&](size_t index, bool& touched) {
        touched = false;
        if (index == bad) fail();
        float value = 1;
        try {
          group[index]->all_reduce(&value, &value, 1, DType::Float32, ReduceOp::Sum);
        } catch (const Aborted& error) {
          aborted +=
              std::string(error.what()).find("another replica has stopped: ") != std::string::npos;
          throw;
        }
      });
    } catch (...) {
      CHECK(aborted == kReplicas - 1);
      throw;
    }
  };
  for (size_t bad = 0; bad < kReplicas; ++bad) {
    CAPTURE(bad);
    CHECK_THROWS_WITH_AS(run(bad, [] { raise<Unavailable>("no answer"); }), "no answer",
                         Unavailable);
    try {
      run(bad, [] { throw PeerLost(4, "ada:2222", 17); });
      FAIL("nothing was thrown");
    } catch (const PeerLost& lost) {
      CHECK(lost.rank() == 4);
      CHECK(lost.address() == "ada:2222");
      CHECK(lost.step() == 17);
    }
  }
}

TEST_CASE("when one replica has written and another has failed, the variables are lost") {
  const Strategy strategy = mirrored(2);
  const Variable w(ops::zeros({}), {.name = "w"});
  const Function step = function([&](const Tensor& logits, const Tensor& labels) {
    w.assign(w + loss_of(logits, labels));  // no replica waits for another
  });
  for (size_t bad = 0; bad < 2; ++bad) {
    std::vector<Tensors> inputs(2, arguments(1));
    inputs[bad] = arguments(7);
    CHECK_THROWS_AS(strategy.run(step, PerReplica(inputs)), InvalidArgument);
    CHECK(error_of([&] { w.value(); }).starts_with("FailedPrecondition: Variable 'w': its value"));
    CHECK_THROWS_AS(strategy.run(step, arguments(1)), FailedPrecondition);
    w.assign(Tensor::scalar(0.0f));
    strategy.run(step, arguments(1));
    for (const Tensor& value : values_of(strategy, w)) {
      CHECK(value.item<float>() == doctest::Approx(std::log(3.0)));
    }
  }
}

TEST_CASE("values of replicas become one") {
  const Strategy strategy = mirrored(3);
  const PerReplica values({Tensors(Tensor(2.0f)), Tensors(Tensor(6.0f)), Tensors(Tensor(1.0f))});
  for (const auto& [op, expected] : {std::pair{ReduceOp::Sum, 9.0},
                                     {ReduceOp::Mean, 3.0},
                                     {ReduceOp::Min, 1.0},
                                     {ReduceOp::Max, 6.0}}) {
    CHECK(strategy.reduce(op, values).item<double>() == expected);
  }
}

TEST_CASE("parts of a batch differ by one example at most, and may be empty") {
  const Strategy strategy = mirrored(3);
  const Function step = function(
      [](const Tensor& x) { return get_replica_context().all_reduce(ReduceOp::Sum, ops::sum(x)); });
  for (const int64_t rows : {7, 3, 2, 0}) {
    CAPTURE(rows);
    const Tensor x = small_integers({rows, 2}, rows);
    std::vector<Tensors> parts;
    for (const Batch& part : strategy.impl().split({.x = x, .y = {}, .sample_weight = {}})) {
      parts.push_back(part.x);
    }
    CHECK(parts[0].dim(0) - parts[2].dim(0) <= 1);
    CHECK(parts[0].dim(0) >= parts[1].dim(0));
    CHECK(parts[0].dim(0) + parts[1].dim(0) + parts[2].dim(0) == rows);
    for (const Tensors& result : strategy.run(step, PerReplica(parts)).values()) {
      CHECK(distance(result.single(), ops::sum(x)) == 0);
    }
  }
}

TEST_CASE("arguments for another number of replicas are refused") {
  const Function step = function([](const Tensor& x) { return x; }, {.name = "copy"});
  CHECK(
      error_of([&] { mirrored(2).run(step, PerReplica({Tensors(ops::zeros({2}))})); }) ==
      "InvalidArgument: Strategy 'MirroredStrategy': expected arguments for 2 local replicas, got "
      "1.");
}

TEST_CASE("an empty function has no values for replicas") {
  CHECK(error_of([] { mirrored(2).distribute_values_from_function({}); }) ==
        "InvalidArgument: distribute_values_from_function: expected a function, got an empty one.");
}

TEST_CASE("one function under two strategies is traced for each") {
  const Function total =
      function([](const Tensor& x) { return get_replica_context().all_reduce(ReduceOp::Sum, x); });
  const Tensor one = ops::ones({1});
  for (const int replicas : {1, 2, 3, 1, 2}) {
    const Strategy strategy = replicas == 1 ? get_strategy() : mirrored(replicas);
    const auto results = strategy.run(total, Tensors(one));
    CHECK(results.values()[0].single().item<float>() == static_cast<float>(replicas));
  }
  CHECK(total.trace_count() == 3);
}

TEST_CASE("replicas have fewer compute threads than the thread that compiled their step") {
  const Strategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  const Tensor kernel = random::normal({1024, 1024}, {.seed = 1});
  auto body = [&](const Tensor& x) {
    return ops::matmul(ops::tanh(ops::matmul(ops::tanh(x), kernel)), ops::transpose(kernel));
  };
  const Function step = function(body);
  const Tensor x = random::normal({512, 1024}, {.seed = 2});
  const Tensor expected = body(x);
  for (int run = 0; run < 3; ++run) {
    for (const Tensors& part : strategy.run(step, PerReplica({x, x})).values()) {
      CHECK(distance(part.single(), expected) < 1e-2);
    }
  }
}
