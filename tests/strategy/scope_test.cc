// SPDX-License-Identifier: Apache-2.0
// The default strategy, OneDevice, scopes, and the replica context with one replica.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <thread>

#include "framework/graph/dispatch.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using distribute::get_replica_context;
using distribute::OneDeviceStrategy;
using distribute::PerReplica;
using test::error_of;

namespace {

const Tensor kNumbers = Tensor::from(std::vector<float>{1, 2, 3});

Function doubled() {
  return function([](const Tensor& x) { return x * 2; }, {.name = "doubled"});
}

// What every strategy of one replica does.
void check_single_replica(const Strategy& strategy) {
  CHECK(strategy.num_replicas_in_sync() == 1);
  CHECK(strategy.is_chief());
  CHECK(strategy.impl().devices().size() == 1);

  const Function step = doubled();
  const PerReplica same = strategy.run(step, Tensors(kNumbers));
  REQUIRE(same.size() == 1);
  CHECK(same[0].single().to_vector<float>() == std::vector<float>{2, 4, 6});
  const PerReplica own = strategy.run(step, PerReplica({Tensors(kNumbers)}));
  CHECK(own[0].single().to_vector<float>() == std::vector<float>{2, 4, 6});
  CHECK(step.trace_count() == 1);
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max}) {
    CHECK(strategy.reduce(op, own).id() == own[0].single().id());
  }
  CHECK(strategy.local_results(own).size() == 1);

  const std::vector<Batch> parts =
      strategy.impl().split({.x = kNumbers, .y = {}, .sample_weight = {}});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].x.single().id() == kNumbers.id());
  CHECK(parts[0].y.empty());
  CHECK(parts[0].sample_weight.empty());
  CHECK(strategy.impl().distribute(nullptr) == nullptr);
}

}  // namespace

TEST_CASE("the default strategy") {
  CHECK_FALSE(has_strategy());
  const Strategy strategy = get_strategy();
  CHECK(strategy.name() == "default");
  CHECK(strategy.impl().devices()[0] == Device{});
  check_single_replica(strategy);
  CHECK(get_strategy().shared() == strategy.shared());
}

TEST_CASE("OneDeviceStrategy runs steps on its device") {
  const OneDeviceStrategy strategy("cpu:1");
  CHECK(strategy.name() == "OneDeviceStrategy");
  const Device second{DeviceType::Cpu, 1};
  CHECK(strategy.impl().devices()[0] == second);
  check_single_replica(strategy);

  Device seen;
  bool fails = false;
  const Function step = function(
      [&](const Tensor& x) {
        seen = default_device();
        check<FailedPrecondition>(!fails, "on purpose");
        return x;
      },
      {.run_eagerly = true});
  strategy.run(step, Tensors(kNumbers));
  CHECK(seen == second);
  CHECK(default_device() == Device{});
  fails = true;
  CHECK_THROWS_AS(strategy.run(step, Tensors(kNumbers)), FailedPrecondition);
  CHECK(default_device() == Device{});
}

TEST_CASE("devices that OneDeviceStrategy can't have") {
  CHECK(error_of([] { OneDeviceStrategy("GPU:0"); }) ==
        "Unimplemented: Device GPU:0: this build of Cornu has no backend for it; it has CPU.");
  for (const char* text : {"", "X", "CPU:", "CPU:-1", "CPU:one", "CPU:1 ", "CPU:99999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(OneDeviceStrategy{text}, InvalidArgument);
  }
}

TEST_CASE("run wants arguments for every local replica") {
  const Strategy strategy = get_strategy();
  CHECK(error_of([&] {
          strategy.run(doubled(), PerReplica({Tensors(kNumbers), Tensors(kNumbers)}));
        }) ==
        "InvalidArgument: Strategy 'default': expected arguments for 1 local replicas, got 2.");
  CHECK_THROWS_AS(strategy.run(doubled(), PerReplica()), InvalidArgument);
}

TEST_CASE("scopes nest, on one thread, and end with an error too") {
  const OneDeviceStrategy outer("CPU:0");
  const OneDeviceStrategy inner("CPU:1");
  {
    const auto first = outer.scope();
    CHECK(has_strategy());
    CHECK(get_strategy().shared() == outer.shared());
    {
      const auto second = inner.scope();
      CHECK(get_strategy().shared() == inner.shared());
      const auto third = outer.scope();
      CHECK(get_strategy().shared() == outer.shared());
    }
    CHECK(get_strategy().shared() == outer.shared());
    try {
      const auto second = inner.scope();
      raise<Internal>("on purpose");
    } catch (const Internal&) {
      CHECK(get_strategy().shared() == outer.shared());
    }
    bool elsewhere = true;
    std::thread([&] { elsewhere = has_strategy(); }).join();
    CHECK_FALSE(elsewhere);
  }
  CHECK_FALSE(has_strategy());
  CHECK(get_strategy().name() == "default");
}

TEST_CASE("a scope keeps its strategy alive") {
  std::weak_ptr<StrategyImpl> watched;
  {
    auto strategy = std::make_unique<OneDeviceStrategy>("CPU:0");
    watched = strategy->shared();
    const auto scope = strategy->scope();
    strategy.reset();
    CHECK(get_strategy().name() == "OneDeviceStrategy");
  }
  CHECK(watched.expired());
}

TEST_CASE("the replica context of one replica") {
  CHECK(get_replica_context().num_replicas_in_sync() == 1);
  CHECK(get_replica_context().all_reduce(ReduceOp::Sum, kNumbers).id() == kNumbers.id());
  int64_t inside = 0;
  const Function step = function([&](const Tensor& x) {
    inside = get_replica_context().num_replicas_in_sync();
    return get_replica_context().all_reduce(ReduceOp::Mean, x);
  });
  get_strategy().run(step, Tensors(kNumbers));
  CHECK(inside == 1);
  CHECK(step.compiled({kNumbers})->graph.nodes.empty());
}

TEST_CASE("an input function is told its share of the batch") {
  const distribute::InputContext context{.num_input_pipelines = 1, .num_replicas_in_sync = 4};
  CHECK(context.get_per_replica_batch_size(64) == 16);
  CHECK(error_of([&] { context.get_per_replica_batch_size(30); }) ==
        "InvalidArgument: InputContext: expected a global batch size divisible by 4 replicas, got "
        "30.");
}
