// SPDX-License-Identifier: Apache-2.0
// Calls that replicas make together: mistakes, and steps that are plain callables.
#include <doctest/doctest.h>

#include <functional>
#include <future>
#include <thread>

#include "distribute/strategies/one_caller.h"
#include "distribute/strategies/step_collectives.h"
#include "tests/distribute/models.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using distribute::get_replica_context;
using distribute::PerReplica;
using test::devices;
using test::error_of;
using test::floats;
using test::mirrored;

TEST_CASE("a step that replicas make of different calls fails on all of them") {
  const auto strategy = mirrored(2);
  const Function step = function([](const Tensor& x) {
    const auto context = get_replica_context();
    return x.dim(0) == 1 ? context.all_reduce(ReduceOp::Sum, x)
                         : context.all_reduce(ReduceOp::Mean, x);
  });
  const PerReplica uneven({Tensors(floats({1, 2})), Tensors(floats({3}))});
  for (int i = 0; i < 2; ++i) {  // again with a new group
    CHECK(error_of([&] { strategy.run(step, uneven); }) ==
          "FailedPrecondition: Strategy 'MirroredStrategy': every replica must make the same "
          "collective calls in the same order, but call 1 of the step 'function' on replica 1 is "
          "all_reduce (sum) of float32 (1,); expected all_reduce (mean) of float32 (2,), as on "
          "replica 0. Look for an if, a loop or a shape that a replica's number, its data or the "
          "size of its part of the batch decides, with a collective behind it (apply_gradients, "
          "losses and metrics have some, too).");
  }
  strategy.run(step, PerReplica({Tensors(floats({1})), Tensors(floats({3}))}));
  const Function fewer = function([](const Tensor& x) {
    return x.dim(0) == 1 ? get_replica_context().all_reduce(ReduceOp::Sum, x) : x;
  });
  CHECK(error_of([&] { strategy.run(fewer, uneven); })
            .find("call 1 of the step 'function' on replica 1 is all_reduce (sum) of float32 (1,); "
                  "expected nothing more, as on replica 0.") != std::string::npos);
}

TEST_CASE("replicas whose collectives have as many elements, but differ") {
  const auto strategy = mirrored(3);
  const PerReplica parts(
      {Tensors(ops::ones({2, 3})), Tensors(ops::ones({2, 3})), Tensors(ops::ones({3, 2}))});
  const auto error_in = [&](const std::function<Tensor(const Tensor&)>& body) {
    const Function step = function(body, {.name = "loop"});
    std::string error = error_of([&] { strategy.run(step, parts); });
    CHECK(error_of([&] { strategy.run(step, parts); }) == error);
    return error;
  };
  const auto sum = [](const Tensor& x) {
    return get_replica_context().all_reduce(ReduceOp::Sum, x);
  };
  CHECK(error_in(sum).find(
            "call 1 of the step 'loop' on replica 2 is all_reduce (sum) of float32 (3, 2); "
            "expected all_reduce (sum) of float32 (2, 3), as on replica 0.") != std::string::npos);
  CHECK(error_in([&](const Tensor& x) {
          const Tensor first = sum(ops::reshape(x, {6}));
          return sum(x.dim(0) == 2 ? first : ops::cast(first, DType::Int32));
        })
            .find("call 2 of the step 'loop' on replica 2 is all_reduce (sum) of int32 (6,); "
                  "expected all_reduce (sum) of float32 (6,), as on replica 0.") !=
        std::string::npos);
  CHECK(error_in([](const Tensor& x) {
          return get_replica_context().all_gather(ops::reshape(x, {1, 6}), x.dim(0) == 2 ? 0 : 1);
        }).find("all_gather along axis") != std::string::npos);
  // In branches, too.
  CHECK(error_in([&](const Tensor& x) {
          const Tensor all = sum(ops::sum(x));
          return ops::cond(
              all > 0, [&] { return ops::sum(sum(x)); }, [&] { return all; });
        }).find("call 2 of the step 'loop' on replica 2 is all_reduce (sum) of float32 (3, 2)") !=
        std::string::npos);
}

TEST_CASE("a step that is a plain callable, and one within another function or step") {
  const auto strategy = mirrored(2);
  const auto scope = strategy.scope();
  const Variable w(floats({1}), {.name = "w", .trainable = false});
  const auto step = [&](const Tensor& x) {
    w.assign_add(get_replica_context().all_reduce(ReduceOp::Sum, x));
    return x * 2;
  };
  const PerReplica values({Tensors(floats({1})), Tensors(floats({10}))});
  CHECK(strategy.reduce(ReduceOp::Sum, strategy.run(step, values)).item<float>() == 22);
  CHECK(w.value().to_vector<float>() == std::vector<float>{12});
  CHECK(strategy.run(step, Tensors(floats({1}))).size() == 2);
  CHECK(strategy.run([] { return get_replica_context().replica_id_in_sync_group(); })[1]
            .item<int64_t>() == 1);
  CHECK(strategy
            .run([](const Tensors& x, const Tensor& y) { return x["a"] + y; },
                 PerReplica::of_arguments({{Tensors{{"a", floats({1})}}, floats({2})},
                                           {Tensors{{"a", floats({3})}}, floats({4})}}))[1]
            .item<float>() == 7);
  CHECK(strategy
            .run([](const Tensor& x, const Tensor& y) { return x + y; },
                 {floats({1}), floats({2})})[1]
            .item<float>() == 3);
  w.assign(floats({1}));
  const Function outer =
      function([&] { return strategy.reduce(ReduceOp::Sum, strategy.run(step, values)); });
  for (int i = 0; i < 2; ++i) CHECK(outer().item<float>() == 22);
  CHECK(w.value().to_vector<float>() == std::vector<float>{23});
  const Function inner = function(step, {.name = "inner"});
  const Function nested =
      function([&](const Tensor& x) { return strategy.run(inner, Tensors(x))[0].single(); });
  CHECK(error_of([&] { strategy.run(nested, values); })
            .find("Strategy 'MirroredStrategy': 'inner' was run within a step that each replica "
                  "runs already. Call it there as a function, inner(…), and bring what replicas "
                  "have together with distribute::get_replica_context().all_reduce.") !=
        std::string::npos);
}

TEST_CASE("calls that belong inside a step, or outside of it") {
  const auto strategy = mirrored(2);
  const auto scope = strategy.scope();
  const Function reduces = function(
      [&](const Tensor& x) { return strategy.reduce(ReduceOp::Sum, PerReplica({Tensors(x)})); });
  CHECK(error_of([&] { strategy.run(reduces, Tensors(floats({1}))); })
            .find("reduce was called within a step that each replica runs. Use "
                  "distribute::get_replica_context().all_reduce there.") != std::string::npos);
  CHECK(error_of([&] { strategy.reduce(ReduceOp::Sum, PerReplica({Tensors(floats({1}))})); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': reduce expected the values of 2 local "
        "replicas, got 1.");
  CHECK(error_of([&] { strategy.reduce(ReduceOp::Sum, PerReplica()); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': reduce expected the values of replicas, "
        "what Strategy::run returned, got an empty PerReplica.");
  const Function nothing = function([](const Tensor&) {});
  CHECK(error_of(
            [&] { strategy.reduce(ReduceOp::Sum, strategy.run(nothing, Tensors(floats({1})))); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': reduce expected a tensor of each replica, "
        "got 0. Let the step return what is to be reduced.");
  const Variable w(floats({1}), {.name = "w"});
  const Function step = function([&](const Tensor& x) { return w * x; });
  GradientTape tape;
  CHECK(error_of([&] { strategy.run(step, Tensors(floats({1}))); }) ==
        "FailedPrecondition: Strategy 'MirroredStrategy': a GradientTape around run doesn't see "
        "what replicas do. Take gradients within the step.");
}

TEST_CASE("a custom group") {
  int made = 0;
  const distribute::CrossDeviceOps own("Counting", [&](int replicas) {
    ++made;
    return distribute::CrossDeviceOps().make_group(replicas);
  });
  const distribute::MirroredStrategy strategy({.devices = devices(2), .cross_device_ops = own});
  const Function step =
      function([](const Tensor& x) { return get_replica_context().all_reduce(ReduceOp::Sum, x); });
  for (int i = 0; i < 3; ++i) strategy.run(step, Tensors(floats({1})));
  CHECK(made == 1);
}

TEST_CASE("a thread's calls follow another one's, and don't come between them") {
  distribute::OneCaller caller("S");
  const auto error = [&] {
    return error_of([&] { const distribute::OneCaller::Call call(caller); });
  };
  const auto error_of_another = [&] { return std::async(std::launch::async, error).get(); };
  {
    const distribute::OneCaller::Call call(caller);
    CHECK(error().empty());  // nested in the same thread
    CHECK(error_of_another() ==
          "FailedPrecondition: Strategy 'S': another thread of this worker runs steps, or reduces, "
          "gathers or reads batches, too. All workers must make these calls in one order: let one "
          "thread make them all, one after the other.");
  }
  CHECK(error_of_another().empty());  // the call has ended
  CHECK(error().empty());
  // Another thread that is still alive.
  std::promise<void> may_end;
  std::promise<std::string> of_other;
  std::thread other([&] {
    of_other.set_value(error());
    may_end.get_future().wait();
  });
  CHECK(of_other.get_future().get().empty());
  CHECK(error().find("another thread") != std::string::npos);
  caller.reset();
  CHECK(error().empty());
  may_end.set_value();
  other.join();
}

TEST_CASE("which of the functions before one is run") {
  distribute::RunOrder order;
  const auto of = [&](std::initializer_list<uint64_t> functions) {
    std::vector<uint32_t> all;
    for (const uint64_t function : functions) all.push_back(order.run(function));
    return all;
  };
  constexpr uint32_t kNew = distribute::RunOrder::kNew;
  CHECK(of({7, 7, 9, 7, 8, 9, 9}) == std::vector<uint32_t>{kNew, 0, kNew, 1, kNew, 2, 0});
  for (uint64_t function = 100; function < 161; ++function) CHECK(order.run(function) == kNew);
  CHECK(order.run(9) == 61);
  for (uint64_t function = 200; function < 264; ++function) CHECK(order.run(function) == kNew);
  CHECK(order.run(9) == kNew);  // forgotten
  order.clear();
  CHECK(of({263, 263}) == std::vector<uint32_t>{kNew, 0});
}

namespace {

// The strategy of a task of this type in a cluster of so many workers.
distribute::MultiWorkerMirroredStrategy strategy_as(const std::string& type, int workers) {
  distribute::ClusterSpec::Tasks tasks;
  for (int i = 0; i < workers; ++i) tasks.emplace(i, fmt::format("127.0.0.1:{}", i + 1));
  const distribute::ClusterSpec cluster =
      distribute::ClusterSpec::from_tasks({{"worker", tasks}, {"ps", {{0, "127.0.0.1:9"}}}});
  return distribute::MultiWorkerMirroredStrategy(
      {.cluster_resolver =
           distribute::SimpleClusterResolver(cluster, {.task_type = type, .task_id = 0}),
       .devices = devices(1)});
}

}  // namespace

TEST_CASE("tasks that take no part in training don't train") {
  for (const int workers : {1, 2}) {
    CAPTURE(workers);
    CHECK(
        error_of([&] { strategy_as("ps", workers); })
            .starts_with("FailedPrecondition: MultiWorkerMirroredStrategy: this process is the "
                         "task ps 0, which takes no part in training: only chief and workers do."));
    const auto strategy = strategy_as("evaluator", workers);
    const auto scope = strategy.scope();
    CHECK(strategy.num_replicas_in_sync() == 1);
    Sequential model({Input({.shape = {2}}), layers::Dense({.units = 1})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor x = ops::ones({4, 2});
    const Tensor y = ops::ones({4, 1});
    const std::string text = error_of([&] { model.fit(x, y, {.verbose = 0}); });
    CHECK(text.find("fit was called by the task 'evaluator', which takes no part in training") !=
          std::string::npos);
    CHECK(text.find("SidecarEvaluator(model, dataset, options).start()") != std::string::npos);
    CHECK(model.evaluate(x, y, {.verbose = 0}).contains("loss"));
    const Function step = function([&](const Tensor& rows) {
      GradientTape tape;
      const Tensor loss = ops::mean(model(rows));
      model.optimizer().apply_gradients(tape.gradient(loss, model.trainable_variables()),
                                        model.trainable_variables());
      return loss;
    });
    for (const auto& call : {std::function<void()>([&] { strategy.run(step, Tensors(x)); }),
                             std::function<void()>([&] { model.train_on_batch(x, y); })}) {
      CHECK(
          error_of(call).find("apply_gradients was called by the task 'evaluator', which takes no "
                              "part in training") != std::string::npos);
    }
    CHECK(strategy.run(function([&](const Tensor& rows) { return model(rows); }), Tensors(x))
              .size() == 1);
  }
}
