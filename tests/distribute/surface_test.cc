// SPDX-License-Identifier: Apache-2.0
// The surface of tf.distribute on several replicas: contexts, reductions, values, mistakes.
#include <doctest/doctest.h>

#include "tests/distribute/models.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using distribute::get_replica_context;
using distribute::in_cross_replica_context;
using distribute::PerReplica;
using test::devices;
using test::distance;
using test::divided;
using test::error_of;
using test::floats;
using test::mirrored;

namespace {

std::vector<float> numbers(const Tensor& tensor) { return tensor.to_vector<float>(); }

}  // namespace

TEST_CASE("replica and cross-replica contexts") {
  CHECK_FALSE(in_cross_replica_context());
  const auto strategy = mirrored(2);
  const auto scope = strategy.scope();
  CHECK(in_cross_replica_context());
  CHECK(error_of([] { get_replica_context(); }) ==
        "FailedPrecondition: get_replica_context was called in the cross-replica context of "
        "strategy 'MirroredStrategy', outside of a step. Call it in a function that Strategy::run "
        "runs on each replica.");
  bool inside = true;
  const Function step = function([&](const Tensor& x) {
    inside = in_cross_replica_context();
    return get_replica_context().replica_id_in_sync_group() + ops::cast(x, DType::Int64);
  });
  const PerReplica ids = strategy.run(step, Tensors(floats({10})));
  CHECK_FALSE(inside);
  CHECK(ids[0].single().to_vector<int64_t>() == std::vector<int64_t>{10});
  CHECK(ids[1].single().to_vector<int64_t>() == std::vector<int64_t>{11});
}

TEST_CASE("reductions along an axis count the elements of parts that differ in size") {
  const auto strategy = mirrored(3);
  const PerReplica parts({Tensors(floats({1, 2})), Tensors(floats({6})), Tensors(floats({}))});
  CHECK(strategy.reduce(ReduceOp::Sum, parts, 0).item<float>() == 9);
  CHECK(strategy.reduce(ReduceOp::Mean, parts, 0).item<float>() == 3);
  CHECK(strategy.reduce(ReduceOp::Min, parts, 0).item<float>() == 1);
  CHECK(strategy.reduce(ReduceOp::Max, parts, 0).item<float>() == 6);
  CHECK(numbers(strategy.gather(parts)) == std::vector<float>{1, 2, 6});
  CHECK(strategy.local_results(parts).size() == 3);
  const PerReplica none({Tensors(floats({})), Tensors(floats({})), Tensors(floats({}))});
  CHECK(error_of([&] { strategy.reduce(ReduceOp::Max, none, 0); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': reduce expected elements, got none.");
  const PerReplica scalars({Tensors(Tensor(1.0f)), Tensors(Tensor(2.0f)), Tensors(Tensor(3.0f))});
  CHECK(error_of([&] { strategy.reduce(ReduceOp::Sum, scalars, 0); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': reduce along axis 0 expected tensors with "
        "axes, got a scalar of replica 0. Omit the axis.");
  CHECK(error_of([&] { strategy.reduce(ReduceOp::Sum, parts, 1); }) ==
        "OutOfRange: Strategy 'MirroredStrategy': reduce: expected an axis in [-1, 1) for shape "
        "(2,), got 1.");
  const PerReplica turned(
      {Tensors(ops::ones({2, 3})), Tensors(ops::ones({1, 3})), Tensors(ops::ones({2, 4}))});
  CHECK(error_of([&] { strategy.reduce(ReduceOp::Mean, turned, 0); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': reduce along axis 0 expected shapes that "
        "differ along this axis alone, got (2, 3) of replica 0 and (2, 4) of replica 2.");
}

TEST_CASE("all_gather, with its gradient") {
  const auto strategy = mirrored(3);
  const Function step = function([](const Tensor& x) {
    const Tensor own = ops::reshape(x, {1, 2});
    GradientTape tape;
    tape.watch(own);
    const Tensor rows = get_replica_context().all_gather(own);
    const Tensor columns = get_replica_context().all_gather(own, -1);
    const Tensor weights = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2});
    return std::vector<Tensor>{rows, columns, tape.gradient(ops::sum(rows * weights), own),
                               get_replica_context().all_gather(own > 2)};
  });
  std::vector<Tensors> inputs;
  for (const float i : {0.0f, 2.0f, 4.0f}) inputs.emplace_back(floats({i, i + 1}));
  const PerReplica results = strategy.run(step, PerReplica(inputs));
  for (size_t i = 0; i < 3; ++i) {
    CHECK(results[i][0].shape() == Shape{3, 2});
    CHECK(numbers(results[i][0]) == std::vector<float>{0, 1, 2, 3, 4, 5});
    CHECK(results[i][1].shape() == Shape{1, 6});
    CHECK(numbers(results[i][1]) == std::vector<float>{0, 1, 2, 3, 4, 5});
    // Every replica's loss depends on it.
    const auto k = static_cast<float>(i);
    CHECK(numbers(results[i][2]) == std::vector<float>{3 * (2 * k + 1), 3 * (2 * k + 2)});
    CHECK(results[i][3].to_vector<bool>() ==
          std::vector<bool>{false, false, false, true, true, true});
  }
}

TEST_CASE("all_gather of parts that differ in size, with its gradient") {
  for (const test::StrategyKind& kind : test::strategy_kinds()) {
    const Strategy strategy = kind.make(3);
    if (strategy.impl().num_workers() > 1) continue;
    CAPTURE(strategy.name());
    const Function step = function([](const Tensor& x) {
      const auto context = get_replica_context();
      const Tensor own = ops::reshape(x, {x.dim(0) / 2, 2});
      GradientTape tape;
      tape.watch(own);
      const Tensor rows = context.all_gather(own);
      const Tensor columns = context.all_gather(ops::transpose(own), 1);
      const Tensor weights = ops::cast(ops::arange(rows.num_elements()), DType::Float32);
      const Tensor loss = ops::sum(rows * ops::reshape(weights, rows.shape()));
      // Sizes that follow from gathered values, together with equal sizes.
      const Tensor more = context.all_gather(ops::concatenate({rows, own}, 0));
      return std::vector<Tensor>{rows,
                                 columns,
                                 tape.gradient(loss, own),
                                 more,
                                 context.all_gather(rows),
                                 context.all_gather(own > 2)};
    });
    for (const std::vector<int64_t>& counts :
         {std::vector<int64_t>{2, 1, 1}, {2, 1, 0}, {0, 0, 3}, {1, 1, 1}, {2, 1, 1}}) {
      std::vector<Tensors> inputs;
      std::vector<float> all;
      for (const int64_t count : counts) {
        std::vector<float> own;
        for (int64_t i = 0; i < 2 * count; ++i)
          own.push_back(static_cast<float>(all.size() + own.size()));
        all.insert(all.end(), own.begin(), own.end());
        inputs.emplace_back(floats(own));
      }
      const auto total = static_cast<int64_t>(all.size()) / 2;
      const PerReplica results = strategy.run(step, PerReplica(inputs));
      int64_t first = 0;
      for (size_t i = 0; i < 3; ++i) {
        const Tensors& own = results[i];
        CHECK(own[0].shape() == Shape{total, 2});
        CHECK(numbers(own[0]) == all);
        CHECK(numbers(ops::transpose(own[1])) == all);
        // Every replica's loss depends on it.
        std::vector<float> gradient;
        for (int64_t k = 0; k < 2 * counts[i]; ++k) {
          gradient.push_back(static_cast<float>(3 * (2 * first + k)));
        }
        CHECK(numbers(own[2]) == gradient);
        first += counts[i];
        CHECK(own[3].shape() == Shape{4 * total, 2});
        CHECK(ops::sum(own[3]).item<float>() == 4 * ops::sum(own[0]).item<float>());
        CHECK(own[4].shape() == Shape{3 * total, 2});
        CHECK(own[5].to_vector<bool>() == (own[0] > 2).to_vector<bool>());
      }
    }
  }
}

TEST_CASE("all_gather of parts that differ in size beside what has the size of all") {
  const auto strategy = mirrored(3);
  const PerReplica parts({Tensors(floats({1, 2})), Tensors(floats({6})), Tensors(floats({}))});
  const auto check_gathered = [&](const Function& step, const std::vector<float>& expected) {
    for (int call = 0; call < 2; ++call) {
      const PerReplica results = strategy.run(step, parts);
      for (size_t i = 0; i < 3; ++i) CHECK(numbers(results[i].single()) == expected);
    }
  };
  const auto weighed = [](const Tensor& x) {
    return get_replica_context().all_gather(x) * floats({1, 2, 3});
  };
  check_gathered(function(weighed), {1, 4, 18});
  check_gathered(function([&](const Tensor& x) { return weighed(x) * 2 - weighed(x + x); }),
                 {0, 0, 0});
  const auto in_branch = [&](const Tensor& x) {
    const Tensor sum = get_replica_context().all_reduce(ReduceOp::Sum, ops::sum(x));
    return ops::cond(
        sum > 0, [&] { return weighed(x); }, [&] { return weighed(x * 2); });
  };
  check_gathered(function(in_branch), {1, 4, 18});
  const Function wrong = function([](const Tensor& x) {
    return get_replica_context().all_gather(x) * floats({1, 2});
  });
  CHECK(error_of([&] { strategy.run(wrong, parts); }).find("got (3,) and (2,)") !=
        std::string::npos);
}

TEST_CASE("what can't be gathered says of which replica") {
  const auto strategy = mirrored(3);
  const Function step =
      function([](const Tensor& x) { return get_replica_context().all_gather(x); });
  const PerReplica turned(
      {Tensors(ops::ones({1, 2})), Tensors(ops::ones({1, 2})), Tensors(ops::ones({2, 1}))});
  CHECK(error_of([&] { strategy.run(step, turned); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': all_gather along axis 0 expected shapes "
        "that differ along this axis alone, got (1, 2) on replica 0 and (2, 1) on replica 2. Pad "
        "them to one size in the step, or return them and join them outside of it with "
        "Strategy::gather.");
  const PerReplica scalars({Tensors(Tensor(1.0f)), Tensors(Tensor(2.0f)), Tensors(Tensor(3.0f))});
  CHECK(error_of([&] { strategy.run(step, scalars); })
            .find("all_gather: expected a tensor with axes, got a scalar. Give it one first: "
                  "ops::expand_dims(x, 0).") != std::string::npos);
  CHECK(error_of([&] { strategy.gather(scalars); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': gather along axis 0 expected tensors with "
        "axes, got a scalar of replica 0. Reduce scalars instead, or give them an axis "
        "(ops::expand_dims(x, 0)).");
  CHECK(error_of([&] { strategy.gather(turned, 0); }) ==
        "InvalidArgument: Strategy 'MirroredStrategy': gather along axis 0 expected shapes that "
        "differ along this axis alone, got (1, 2) of replica 0 and (2, 1) of replica 2.");
}

TEST_CASE("merge_call") {
  const auto strategy = mirrored(2);
  const auto scope = strategy.scope();
  const Variable total(ops::zeros({2}), {.name = "total", .trainable = false});
  const Function step = function([&](const Tensor& x) {
    const auto context = get_replica_context();
    const auto merge = [&](const Strategy& given, const PerReplica& values) -> Tensors {
      CHECK(in_cross_replica_context());
      CHECK(given.name() == "MirroredStrategy");
      const Tensor sum = given.reduce(ReduceOp::Sum, values);
      total.assign(total + sum);
      return sum;
    };
    CHECK_THROWS_AS(context.merge_call([&](const Strategy&, const PerReplica&) -> Tensors {
      return get_replica_context().all_reduce(ReduceOp::Sum, x);
    }),
                    FailedPrecondition);
    return context.merge_call(merge, x);
  });
  const PerReplica sums =
      strategy.run(step, PerReplica({Tensors(floats({1, 2})), Tensors(floats({10, 20}))}));
  CHECK(numbers(sums[0].single()) == std::vector<float>{11, 22});
  CHECK(numbers(sums[1].single()) == std::vector<float>{11, 22});
  CHECK(numbers(total.value()) == std::vector<float>{11, 22});
}

TEST_CASE("what belongs in a step isn't called in its merge_call") {
  const auto strategy = mirrored(2);
  const auto scope = strategy.scope();
  const Variable w(floats({1}), {.name = "w"});
  const optimizers::SGD optimizer;
  const auto in_merge = [&](const std::function<void(const Tensor&)>& call) {
    const Function step = function([&](const Tensor& x) {
      return get_replica_context().merge_call(
          [&](const Strategy& given, const PerReplica& values) -> Tensors {
            const Tensor sum = given.reduce(ReduceOp::Sum, values);
            call(sum);
            return sum;
          },
          x);
    });
    return error_of([&] { strategy.run(step, Tensors(floats({1}))); });
  };
  // apply_gradients sums gradients itself: those of a merge_call would be counted once per replica.
  CHECK(in_merge([&](const Tensor& sum) { optimizer.apply_gradients({sum}, {w}); })
            .find("apply_gradients was called in a merge_call, in the cross-replica context of "
                  "strategy 'MirroredStrategy'. Call it in the step itself, which each replica "
                  "runs.") != std::string::npos);
  CHECK(in_merge([&](const Tensor& sum) {
          distribute::compute_average_loss(sum);
        }).find("compute_average_loss was called in a merge_call") != std::string::npos);
  CHECK(in_merge([&](const Tensor&) { get_replica_context(); })
            .find("get_replica_context: a merge_call is in cross-replica context. Use the strategy "
                  "that it is given.") != std::string::npos);
  CHECK(numbers(w.value()) == std::vector<float>{1});
}

TEST_CASE("variables by how they are kept") {
  const auto strategy = mirrored(3);
  const auto scope = strategy.scope();
  auto variable = [](VariableSynchronization synchronization, VariableAggregation aggregation) {
    return Variable(floats({1}), {.name = "v",
                                  .trainable = false,
                                  .synchronization = synchronization,
                                  .aggregation = aggregation});
  };
  using S = VariableSynchronization;
  using A = VariableAggregation;
  const Variable added = variable(S::Auto, A::Sum);
  const Variable averaged = variable(S::OnWrite, A::Mean);
  const Variable seen = variable(S::OnRead, A::Sum);
  const Variable mean = variable(S::OnRead, A::Mean);
  const Variable first = variable(S::OnRead, A::OnlyFirstReplica);
  const Function step = function([&](const Tensor& x) {
    for (const Variable& v : {added, averaged, seen, mean, first}) v.assign_add(x);
    return seen.value();
  });
  const PerReplica values({Tensors(floats({1})), Tensors(floats({2})), Tensors(floats({6}))});
  const PerReplica own = strategy.run(step, values);
  CHECK(numbers(own[0].single()) ==
        std::vector<float>{2});  // the first replica has the initial value
  CHECK(numbers(own[1].single()) == std::vector<float>{2});
  CHECK(numbers(own[2].single()) == std::vector<float>{6});
  CHECK(numbers(added.value()) == std::vector<float>{10});
  CHECK(numbers(averaged.value()) == std::vector<float>{4});
  CHECK(numbers(seen.value()) == std::vector<float>{10});
  CHECK(numbers(mean.value()) == std::vector<float>{4});
  CHECK(numbers(first.value()) == std::vector<float>{2});
  strategy.run(step, values);
  CHECK(numbers(added.value()) == std::vector<float>{19});
  CHECK(numbers(averaged.value()) == std::vector<float>{7});
  CHECK(numbers(seen.value()) == std::vector<float>{19});
  CHECK(numbers(mean.value()) == std::vector<float>{7});
  for (const Variable& v : {added, averaged, seen, mean, first}) v.assign(floats({5}));
  strategy.run(step, values);
  CHECK(numbers(seen.value()) == std::vector<float>{14});
  CHECK(numbers(mean.value()) == std::vector<float>{8});
  CHECK(numbers(first.value()) == std::vector<float>{6});
  // Outside of the strategy's runs it is a single value.
  const Function elsewhere = function([&] {
    seen.assign_add(floats({1}));
    return seen.value();
  });
  strategy.run(step, values);
  CHECK(numbers(elsewhere().single()) == std::vector<float>{24});
  strategy.run(step, values);
  CHECK(numbers(seen.value()) == std::vector<float>{33});
}

TEST_CASE("a replica without examples leaves averages alone") {
  const auto strategy = mirrored(3);
  const Variable averaged(
      floats({1}), {.name = "v", .trainable = false, .aggregation = VariableAggregation::Mean});
  const Function step = function([&](const Tensor& x) {
    averaged.assign(x.dim(0) > 0 ? ops::mean(x, 0, true) : averaged.value());
  });
  strategy.run(step,
               PerReplica({Tensors(floats({2, 4})), Tensors(floats({7})), Tensors(floats({}))}));
  CHECK(numbers(averaged.value()) == std::vector<float>{5});
}

TEST_CASE("printing a mirrored variable shows its replicas") {
  const auto strategy = mirrored(2);
  const Variable w(floats({1, 2}), {.name = "w"});
  CHECK(w.to_string() == "Variable(path=w, shape=(2,), dtype=float32, value=[1. 2.])");
  const Function step = function([&](const Tensor& x) { w.assign_add(x); });
  strategy.run(step, Tensors(floats({1, 1})));
  CHECK(w.to_string() ==
        "MirroredVariable(path=w, shape=(2,), dtype=float32, replicas=\n0: [2. 3.]\n1: [2. 3.])");
  w.assign(floats({5, 5}));
  CHECK(w.to_string() ==
        "MirroredVariable(path=w, shape=(2,), dtype=float32, replicas=\n0: [5. 5.]\n1: [5. 5.])");
}

TEST_CASE("replicas draw different numbers: those of one device for the same examples") {
  const auto strategy = mirrored(3);
  auto step = [] {
    return function([](const Tensor& x) {
      return std::vector<Tensor>{
          random::uniform({x.dim(0), 3}, {.seed = 5}),
          random::normal({x.dim(0), 5}),
          random::normal({x.dim(0) * 2, 3}, {.dtype = DType::Float64, .seed = 6}),
          random::gamma({x.dim(0), 2}, 2.0, {.seed = 7}),
          random::dropout(x, 0.5, {.seed = 8}),
          random::dropout(x, 0.5, {.noise_shape = Shape{kUnknown, 1}, .seed = 10}),
          random::uniform({x.dim(0), 1}, {.dtype = DType::BFloat16, .seed = 9}),
      };
    });
  };
  for (const int64_t rows : {1, 2, 7, 100}) {
    CAPTURE(rows);
    const Tensor x = ops::ones({rows, 7});
    set_random_seed(3);
    const Tensors expected = step()(x);
    set_random_seed(3);
    const PerReplica drawn = strategy.run(step(), divided(strategy, x));
    for (size_t k = 0; k < expected.size(); ++k) {
      CAPTURE(k);
      const Tensor all = strategy.gather(drawn.at(k));
      CHECK(distance(all, expected[k]) == 0);
    }
  }
}

TEST_CASE("values and datasets from functions") {
  const auto strategy = mirrored(2);
  const PerReplica values =
      strategy.distribute_values_from_function([](const distribute::ValueContext& context) {
        return Tensors(
            Tensor(10 * context.replica_id_in_sync_group + context.num_replicas_in_sync));
      });
  CHECK(values[0].item<int>() == 2);
  CHECK(values[1].item<int>() == 12);

  const auto dataset =
      strategy.distribute_datasets_from_function([](const distribute::InputContext& context) {
        return data::Dataset::range(10).batch(context.get_per_replica_batch_size(4));
      });
  CHECK(dataset.cardinality() == 3);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::vector<int64_t>> seen;
    for (const PerReplica& batch : dataset) {
      for (const Tensors& part : batch.values()) {
        seen.push_back(part.single().to_vector<int64_t>());
      }
    }
    CHECK(seen == std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {}});
  }
  const auto whole = strategy.distribute_dataset(data::Dataset::range(7).batch(4));
  CHECK(whole.cardinality() == 2);
  std::vector<int64_t> sizes;
  for (const PerReplica& batch : whole) {
    for (const Tensors& part : batch.values()) sizes.push_back(part.dim(0));
  }
  CHECK(sizes == std::vector<int64_t>{2, 2, 2, 1});
}

TEST_CASE("losses of parts") {
  const auto strategy = mirrored(2);
  const Tensor losses = floats({1, 2, 6});
  const Tensor weights = floats({1, 0, 2});
  const Function step = function([](const Tensor& x, const Tensor& w) {
    return std::vector<Tensor>{
        distribute::compute_average_loss(x),
        distribute::compute_average_loss(x, {.global_batch_size = 6}),
        distribute::compute_average_loss(x, {.sample_weight = w}),
        distribute::scale_regularization_loss(ops::full({2}, 3.0)),
    };
  });
  const PerReplica parts({Tensors({losses(Slice(0, 2)), weights(Slice(0, 2))}),
                          Tensors({losses(Slice(2, 3)), weights(Slice(2, 3))})});
  const PerReplica results = strategy.run(step, parts);
  const double expected[] = {3.0, 1.5, 13.0 / 3, 6.0};
  for (size_t k = 0; k < 4; ++k) {
    CHECK(results[0][k].item<double>() + results[1][k].item<double>() ==
          doctest::Approx(expected[k]));
  }
  CHECK(error_of([] { distribute::compute_average_loss(Tensor(1.0f)); }) ==
        "InvalidArgument: compute_average_loss: expected a loss for each example, got a scalar. "
        "Make the loss with Reduction::None.");
  const auto scope = strategy.scope();
  CHECK(
      error_of([&] { distribute::compute_average_loss(losses); })
          .starts_with(
              "FailedPrecondition: compute_average_loss was called in the cross-replica context"));
}

TEST_CASE("weights of per-example losses") {
  const Tensor losses = floats({1, 2, 6});
  const auto average = [&](const Tensor& losses, const Tensor& weights) {
    return distribute::compute_average_loss(losses, {.sample_weight = weights}).item<double>();
  };
  const Tensor weights = floats({1, 0, 2});
  CHECK(average(losses, weights) == doctest::Approx(13.0 / 3));
  CHECK(average(losses, ops::reshape(weights, {3, 1})) == doctest::Approx(13.0 / 3));
  CHECK(average(losses, Tensor(2.0f)) == doctest::Approx(6));
  const Tensor pairs = ops::stack({losses, losses}, 1);
  CHECK(average(pairs, weights) == doctest::Approx(26.0 / 3));
  CHECK(average(pairs, ops::reshape(weights, {3, 1})) == doctest::Approx(26.0 / 3));
  CHECK(error_of([&] {
          average(losses, floats({1, 2}));
        }) ==
        "InvalidArgument: compute_average_loss: expected a sample_weight that fits losses of shape "
        "(3,), one for each example or for each loss, got shape (2,).");
  CHECK(error_of([&] {
          average(losses, ops::ones({3, 2}));
        }).starts_with("InvalidArgument: compute_average_loss: expected a sample_weight"));
}

TEST_CASE("means of integers and sums of bools, wherever they are taken") {
  for (const int64_t replicas : {1, 2, 3}) {
    CAPTURE(replicas);
    const auto strategy = mirrored(replicas);
    std::vector<Tensors> ids;
    std::vector<Tensors> yes;
    for (int64_t i = 0; i < replicas; ++i) {
      ids.push_back(Tensors(Tensor({static_cast<int>(i)})));
      yes.push_back(Tensors(Tensor({true})));
    }
    const auto in_step = [&](ReduceOp op, const PerReplica& values, bool merges) {
      const Function step = function([=](const Tensor& x) -> Tensor {
        const auto context = get_replica_context();
        if (!merges) return context.all_reduce(op, x);
        return context
            .merge_call([&](const Strategy& all,
                            const PerReplica& parts) -> Tensors { return all.reduce(op, parts); },
                        x)
            .single();
      });
      return strategy.run(step, values)[0].single();
    };
    const double mean = static_cast<double>(replicas - 1) / 2;
    for (const Tensor& found : {strategy.reduce(ReduceOp::Mean, PerReplica(ids)),
                                in_step(ReduceOp::Mean, PerReplica(ids), false),
                                in_step(ReduceOp::Mean, PerReplica(ids), true)}) {
      CHECK(found.dtype() == DType::Float32);
      CHECK(found.to_vector<float>() == std::vector<float>{static_cast<float>(mean)});
    }
    for (const Tensor& found : {strategy.reduce(ReduceOp::Sum, PerReplica(yes)),
                                in_step(ReduceOp::Sum, PerReplica(yes), false),
                                in_step(ReduceOp::Sum, PerReplica(yes), true)}) {
      CHECK(found.dtype() == DType::Int32);
      CHECK(found.to_vector<int>() == std::vector<int>{static_cast<int>(replicas)});
    }
  }
}

TEST_CASE("the devices of a mirrored strategy, as tf.distribute takes them") {
  using distribute::MirroredStrategy;
  const std::vector<std::string> names = devices(2);
  const std::string first = names[0];
  const auto count = [](const Strategy& strategy) { return strategy.num_replicas_in_sync(); };
  CHECK(count(MirroredStrategy({"CPU:0"})) == 1);
  CHECK(count(MirroredStrategy({"CPU:0", "/device:CPU:1"})) == 2);
  CHECK(count(MirroredStrategy({"device:CPU:0", "cpu:1", "/cpu:2"})) == 3);
  CHECK(count(MirroredStrategy({first, names[1]}, distribute::ReductionToOneDevice())) == 2);
  CHECK(count(MirroredStrategy(names)) == 2);
  CHECK(count(MirroredStrategy({.devices = names})) == 2);
  CHECK(count(MirroredStrategy({.devices = {first}})) == 1);
  CHECK(count(MirroredStrategy({.devices = "CPU:0"})) == 1);
  CHECK(error_of([] {
          MirroredStrategy({"CPU:0", "device:CPU:0"});
        }) == "InvalidArgument: MirroredStrategy: expected different devices, got CPU:0 twice.");
}

TEST_CASE("what belongs to another strategy, and calls in the wrong context") {
  const auto first = mirrored(2);
  const auto second = mirrored(2);
  auto make = [&] {
    const auto scope = first.scope();
    return Variable(floats({1}), {.name = "w"});
  };
  const Variable w = make();
  const Function step = function([&](const Tensor& x) { return w + x; });
  const uint64_t number = first.impl().number();
  CHECK(error_of([&] { second.run(step, Tensors(floats({1}))); }) ==
        fmt::format("FailedPrecondition: Variable 'w' was made in the scope of another strategy "
                    "than 'MirroredStrategy', whose step uses it. Make it, or the model or "
                    "optimizer it belongs to, in this strategy's scope. (It belongs to strategy "
                    "number {} of this program, and the step was run by number {}. Copies of a "
                    "strategy are the same one; another object of the same name isn't.)",
                    number, number + 1));
  first.run(step, Tensors(floats({1})));
  {
    const auto scope = first.scope();
    CHECK(error_of([&] { const auto other = second.scope(); })
              .starts_with("FailedPrecondition: Strategy 'MirroredStrategy': its scope was opened "
                           "in that of another strategy, 'MirroredStrategy', which has the same "
                           "name, but was made by itself. End that one first"));
    const optimizers::SGD optimizer;
    CHECK(error_of([&] { optimizer.apply_gradients({floats({1})}, {w}); })
              .starts_with("FailedPrecondition: apply_gradients was called in the cross-replica "
                           "context of strategy 'MirroredStrategy'"));
  }
  CHECK(error_of([] {
          distribute::MirroredStrategy({.devices = {"CPU:0", "cpu:0"}});
        }) == "InvalidArgument: MirroredStrategy: expected different devices, got CPU:0 twice.");
  if (!config::why_unavailable(DeviceType::Tpu).empty()) {
    CHECK(error_of([] {
            distribute::MirroredStrategy({.devices = {"TPU:0"}});
          }).starts_with("FailedPrecondition: Device TPU:0"));
  }
  CHECK(error_of([] {
          distribute::CentralStorageStrategy(
              {.compute_devices = {"CPU:0"}, .parameter_device = "GPU:0"});
        }).starts_with("Unimplemented: CentralStorageStrategy: variables are in the host's"));
}
