// SPDX-License-Identifier: Apache-2.0
// What several processes do together that replicas of one process don't; run by on_workers.py.
#include <doctest/doctest.h>

#include <cmath>

#include "framework/train/worker_parts.h"
#include "tests/distribute/models.h"
#include "tests/support/files.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using test::error_of;
using test::workers;

namespace {

std::vector<double> numbers(const Tensor& tensor) {
  return ops::cast(tensor, DType::Float64).to_vector<double>();
}

}  // namespace

TEST_CASE("values of all workers become one" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const int64_t all = strategy.num_replicas_in_sync();
  const auto ids =
      strategy.distribute_values_from_function([](const distribute::ValueContext& context) {
        return Tensors(Tensor::scalar(static_cast<double>(context.replica_id_in_sync_group)));
      });
  const double sum = static_cast<double>(all * (all - 1)) / 2;
  CHECK(strategy.reduce(ReduceOp::Sum, ids).item<double>() == sum);
  CHECK(strategy.reduce(ReduceOp::Mean, ids).item<double>() == sum / static_cast<double>(all));
  CHECK(strategy.reduce(ReduceOp::Max, ids).item<double>() == static_cast<double>(all - 1));
  CHECK(strategy.reduce(ReduceOp::Min, ids).item<double>() == 0);
  const auto rows =
      strategy.distribute_values_from_function([](const distribute::ValueContext& context) {
        return Tensors(ops::ones({context.replica_id_in_sync_group + 1}, DType::Float64));
      });
  CHECK(strategy.reduce(ReduceOp::Sum, rows, 0).item<double>() == sum + static_cast<double>(all));
  const int64_t worker = strategy.impl().worker();
  const auto wider = strategy.distribute_values_from_function([&](const distribute::ValueContext&) {
    return Tensors(ops::ones({2, 3 + worker}));
  });
  const std::string text = error_of([&] { strategy.reduce(ReduceOp::Sum, wider, 0); });
  CHECK(text.find(fmt::format("reduce expected values of one type on all workers, got float32 of "
                              "shape ({},) on worker {} and ",
                              3 + worker, worker)) != std::string::npos);
  CHECK(text.find(fmt::format("These are what is left of the reduction along axis 0; replica 0 of "
                              "worker {} gave values of shape (2, {}).",
                              worker, 3 + worker)) != std::string::npos);
}

TEST_CASE("extremes of the rows of those workers that have some" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const auto all = static_cast<double>(strategy.num_replicas_in_sync());
  // Replica i has i rows of (i, -i), or no replica has any.
  const auto rows = [&](bool any) {
    return strategy.distribute_values_from_function([&](const distribute::ValueContext& context) {
      const int64_t id = any ? context.replica_id_in_sync_group : 0;
      const Tensor own = ops::full({id, 1}, static_cast<double>(id), DType::Float64);
      return Tensors(ops::concatenate({own, -own}, 1));
    });
  };
  CHECK(numbers(strategy.reduce(ReduceOp::Max, rows(true), 0)) == std::vector<double>{all - 1, -1});
  CHECK(numbers(strategy.reduce(ReduceOp::Min, rows(true), 0)) == std::vector<double>{1, 1 - all});
  CHECK(error_of([&] {
          strategy.reduce(ReduceOp::Max, rows(false), 0);
        }).find("reduce expected elements, got none on any worker") != std::string::npos);
  CHECK(numbers(strategy.reduce(ReduceOp::Max, rows(true), 0)) == std::vector<double>{all - 1, -1});
}

TEST_CASE("means of numbers whose sum float16 can't have" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const auto large =
      strategy.distribute_values_from_function([](const distribute::ValueContext& context) {
        return Tensors(ops::full({context.replica_id_in_sync_group + 1}, 40000.0, DType::Float16));
      });
  const Tensor along = strategy.reduce(ReduceOp::Mean, large, 0);
  CHECK(along.dtype() == DType::Float16);
  CHECK(numbers(along) == std::vector<double>{40000});
  const auto scalars =
      strategy.distribute_values_from_function([](const distribute::ValueContext&) {
        return Tensors(ops::full({1}, 40000.0, DType::Float16));
      });
  const Tensor mean = strategy.reduce(ReduceOp::Mean, scalars);
  CHECK(mean.dtype() == DType::Float16);
  CHECK(numbers(mean) == std::vector<double>{40000});
}

TEST_CASE("another strategy while there is one" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  CHECK(
      error_of([] { distribute::MultiWorkerMirroredStrategy(); })
          .starts_with("FailedPrecondition: MultiWorkerMirroredStrategy: this process has another "
                       "one already, which the other workers reach at the same address. Let that "
                       "one go before"));
}

TEST_CASE("a step on all workers" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const auto all = static_cast<double>(strategy.num_replicas_in_sync());
  const Function step = function([](const Tensor& x) {
    const auto context = distribute::get_replica_context();
    const Tensor id = ops::cast(context.replica_id_in_sync_group(), DType::Float64);
    return ops::stack({context.all_reduce(ReduceOp::Sum, x), id});
  });
  const auto results = strategy.run(step, Tensors(Tensor::scalar(2.0)));
  for (const Tensors& result : strategy.local_results(results)) {
    CHECK(numbers(result.single())[0] == 2 * all);
  }
  const int64_t local = static_cast<int64_t>(results.size());
  CHECK(numbers(results[0].single())[1] == static_cast<double>(strategy.impl().worker() * local));
}

TEST_CASE("every row of a dataset goes to one replica" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  for (const int64_t rows : {1, 7, 24}) {
    CAPTURE(rows);
    for (int64_t i = 0; i < strategy.impl().worker(); ++i) random::normal({1});
    const auto dataset = data::Dataset::range(rows)
                             .map([](const Tensor& i) { return i + 1; })
                             .shuffle(rows)  // without a seed: all workers shuffle identically
                             .batch(5);
    double sum = 0;
    double squares = 0;
    int64_t steps = 0;
    for (const distribute::PerReplica& batch : strategy.distribute_dataset(dataset)) {
      ++steps;
      for (const Tensors& part : strategy.local_results(batch)) {
        for (const double number : numbers(part[0])) {
          sum += number;
          squares += number * number;
        }
      }
    }
    CHECK(steps == (rows + 4) / 5);
    const auto local = strategy.impl().devices().size();
    std::vector<Tensors> sums(local, Tensors(Tensor::scalar(0.0)));
    std::vector<Tensors> of_squares = sums;
    sums[0] = Tensors(Tensor::scalar(sum));
    of_squares[0] = Tensors(Tensor::scalar(squares));
    const auto n = static_cast<double>(rows);
    CHECK(strategy.reduce(ReduceOp::Sum, distribute::PerReplica(sums)).item<double>() ==
          n * (n + 1) / 2);
    CHECK(strategy.reduce(ReduceOp::Sum, distribute::PerReplica(of_squares)).item<double>() ==
          n * (n + 1) * (2 * n + 1) / 6);
  }
}

TEST_CASE("workers begin with the chief's values" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const Variable variable(Tensor::scalar(10.0 + static_cast<double>(strategy.impl().worker())));
  const Function step = function([&](const Tensor& x) {
    return distribute::get_replica_context().all_reduce(ReduceOp::Max, x + variable);
  });
  const auto results = strategy.run(step, Tensors(Tensor::scalar(0.5)));
  CHECK(results[0].single().item<double>() == 10.5);
  CHECK(variable.item<double>() == 10);
}

TEST_CASE("what one worker alone writes between steps is the chief's to say" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const int64_t worker = strategy.impl().worker();
  const Variable factor(Tensor::scalar(2.0), {.name = "factor"});
  const Variable offset(Tensor::scalar(1.0));
  const Function step = function([&](const Tensor& x) {
    offset.assign(offset.value() + 1.0);
    return distribute::get_replica_context().all_reduce(ReduceOp::Max, x * factor + offset);
  });
  // The step's result, and whether the loss of a value was logged.
  const auto run = [&] {
    const test::Log log;
    const double result =
        strategy.run(step, Tensors(Tensor::scalar(10.0)))[0].single().item<double>();
    const std::string told = fmt::format(
        "worker {} had other values of 'factor' than worker 0, which all take in the step", worker);
    return std::pair{result, log.text().find(told) != std::string::npos};
  };
  const bool is_other = worker == 1;
  if (is_other) factor.assign(7.0);
  CHECK(run() == std::pair{22.0, is_other});
  CHECK(run() == std::pair{23.0, false});
  if (is_other) factor.assign(7.0);
  CHECK(run() == std::pair{24.0, is_other});
  if (worker == 0) factor.assign(3.0);
  CHECK(run() == std::pair{35.0, worker != 0});
  factor.assign(4.0);
  CHECK(run() == std::pair{46.0, false});
  if (is_other) factor.assign(4.0);
  CHECK(run() == std::pair{47.0, false});
}

TEST_CASE("models that draw their first weights without a seed" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  Sequential model(
      {Input({.shape = {4}}), layers::Dense({.units = 3}), layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const Tensor x = random::normal({9, 4}, {.seed = 1});
  model.fit(x, ops::sum(x, 1, true), {.batch_size = 4, .epochs = 2, .verbose = 0});
  std::string bytes;
  for (const Tensor& weight : model.get_weights()) {
    bytes.append(reinterpret_cast<const char*>(weight.raw()), weight.bytes());
  }
  for (const std::string& theirs : strategy.impl().exchange("bytes", bytes)) CHECK(theirs == bytes);
}

TEST_CASE("gather brings the values of all workers together" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const int64_t all = strategy.num_replicas_in_sync();
  // Replica i contributes i + 1 rows of i.
  const auto rows =
      strategy.distribute_values_from_function([](const distribute::ValueContext& context) {
        const int64_t id = context.replica_id_in_sync_group;
        return Tensors(ops::full({id + 1, 2}, static_cast<double>(id), DType::Float64));
      });
  const Tensor gathered = strategy.gather(rows, 0);
  CHECK(gathered.shape() == Shape({all * (all + 1) / 2, 2}));
  std::vector<double> expected;
  for (int64_t id = 0; id < all; ++id) {
    expected.insert(expected.end(), static_cast<size_t>(2 * (id + 1)), static_cast<double>(id));
  }
  CHECK(numbers(gathered) == expected);
}

TEST_CASE("a worker that is to end ends all after the same step" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const testing::TempFolder folder;  // each worker's own
  const int64_t told = strategy.impl().num_workers() - 1;
  const Function step = function([](const Tensor& x) {
    return distribute::get_replica_context().all_reduce(ReduceOp::Sum, x);
  });
  const auto train = [&](int64_t calls, int64_t last) {
    Variable count(Tensor::scalar(int64_t{0}), {.trainable = false});
    bool ends = false;
    int64_t asked = 0;
    distribute::PreemptionCheckpointHandler handler(
        Checkpoint({{"count", count}}), folder / "run",
        {.termination_watcher_fn = [&] { return ++asked == 3 && strategy.impl().worker() == told; },
         .exit_fn = [&] { ends = true; }});
    CHECK(count.item<int64_t>() == calls);
    while (!ends) {
      handler.run([&] {
        strategy.run(step, Tensors(Tensor::scalar(1.0)));
        count.assign(count.value() + 1);
      });
    }
    CHECK(handler.total_run_calls() == last);
    for (const std::string& theirs :
         strategy.impl().exchange("calls", std::to_string(handler.total_run_calls()))) {
      CHECK(theirs == std::to_string(last));
    }
  };
  // The last worker is told after its third step; the others learn of it in the fourth.
  train(0, 4);
  train(4, 8);
}

TEST_CASE("a worker that is told to end in the last call, or in a call of fit" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const testing::TempFolder folder;  // each worker's own
  const bool is_told = strategy.impl().worker() == strategy.impl().num_workers() - 1;
  const Tensor x = random::normal({8, 4}, {.seed = 1});
  Sequential model({Input({.shape = {4}}), layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  // Runs at most four calls, is told to end in the `number`th one, and returns the number of calls.
  const auto train = [&](int64_t number, int64_t before) {
    bool ends = false;
    int64_t asked = 0;
    distribute::PreemptionCheckpointHandler handler(
        Checkpoint({{"model", model}}), folder / "run",
        {.termination_watcher_fn = [&] { return ++asked >= number && is_told; },
         .exit_fn = [&] { ends = true; }});
    CHECK(handler.total_run_calls() == before);
    for (int call = 0; call < 4 && !ends; ++call) {
      handler.run([&] {
        model.fit(x, ops::sum(x, 1, true), {.batch_size = 4, .epochs = 1, .verbose = 0});
      });
    }
    return handler.total_run_calls();
  };
  const int64_t first = train(2, 0);
  CHECK((first == 2 || first == 3));  // the others learn of it by the next step
  const int64_t second = train(4, first);
  CHECK(second == first + 4);
  CHECK(train(100, second) == second + 4);
}

TEST_CASE("a callback that sets the learning rate on the chief alone" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  Sequential model({Input({.shape = {4}}), layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  callbacks::LambdaCallbackOptions options;
  options.on_epoch_begin = [&](int64_t epoch, const Logs&) {
    if (epoch == 1 && strategy.is_chief()) model.optimizer().set_learning_rate(0.025);
  };
  const Tensor x = random::normal({8, 4}, {.seed = 1});
  model.fit(x, ops::sum(x, 1, true),
            {.batch_size = 4,
             .epochs = 3,
             .verbose = 0,
             .callbacks = {callbacks::LambdaCallback(options)}});
  CHECK(model.optimizer().learning_rate().item<float>() == 0.025F);
  const Tensor kernel = model.get_weights()[0];
  const std::string bytes(reinterpret_cast<const char*>(kernel.raw()), kernel.bytes());
  for (const std::string& theirs : strategy.impl().exchange("bytes", bytes)) CHECK(theirs == bytes);
}

TEST_CASE("a schedule's learning rate follows the chief's iterations" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  Sequential model({Input({.shape = {4}}), layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::SGD(
                     {.learning_rate = optimizers::schedules::ExponentialDecay(
                          {.initial_learning_rate = 0.1, .decay_steps = 1, .decay_rate = 0.5})}),
                 .loss = "mse"});
  model.optimizer().build(model.trainable_variables());
  if (strategy.is_chief()) model.optimizer().impl().iterations().assign(int64_t{3});
  const Tensor x = random::normal({8, 4}, {.seed = 1});
  model.fit(x, ops::sum(x, 1, true), {.batch_size = 4, .epochs = 1, .verbose = 0});
  CHECK(model.optimizer().iterations() == 5);
}

TEST_CASE("a dataset's shuffle without a seed is one of all workers, whenever it was made" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  for (int64_t i = 0; i < strategy.impl().worker(); ++i) random::normal({1});  // for itself alone
  const Tensor x = ops::reshape(ops::arange(0, 16, 1, DType::Float32), {16, 1});
  const auto dataset = data::Dataset::from_tensor_slices({x, x}).shuffle(16).batch(4);
  Sequential model({Input({.shape = {1}}), layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}),
                 .loss = "mse",
                 .metrics = {Metric("mean", [](const Tensor& y, const Tensor&) { return y; }),
                             Metric("of_squares", [](const Tensor& y, const Tensor&) {
                               return ops::square(y);
                             })}});
  const History history =
      model.fit(dataset, {.epochs = 2, .verbose = 0, .validation_data = dataset});
  for (const char* prefix : {"", "val_"}) {
    for (const double mean : history[prefix + std::string("mean")]) CHECK(mean == 7.5);
    for (const double mean : history[prefix + std::string("of_squares")]) CHECK(mean == 77.5);
  }
  for (int64_t i = 0; i < strategy.impl().worker(); ++i) random::normal({1});
  const auto another = data::Dataset::from_tensor_slices({x, x}).shuffle(16).batch(4);
  CHECK(model.evaluate(another, {.verbose = 0}).at("of_squares") == 77.5);
}

TEST_CASE("datasets that differ are fine where each worker has its own" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  Sequential model({Input({.shape = {4}}), layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const int64_t rows = 8 + 4 * strategy.impl().worker();
  const Tensor x = random::normal({rows, 4}, {.seed = 1});
  data::Options own;
  own.distribute.auto_shard_policy = data::AutoShardPolicy::Off;
  const auto dataset = data::Dataset::from_tensor_slices({x, ops::sum(x, 1, true)})
                           .repeat()
                           .batch(4)
                           .with_options(own);
  const History history = model.fit(dataset, {.epochs = 1, .verbose = 0, .steps_per_epoch = 3});
  CHECK(std::isfinite(history["loss"].back()));
}

TEST_CASE("workers that fit with other options are told so" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  Sequential model({Input({.shape = {4}}), layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const Tensor x = random::normal({8, 4}, {.seed = 1});
  const int64_t epochs = 2 + strategy.impl().worker();
  const std::string text = error_of([&] {
    model.fit(x, ops::sum(x, 1, true), {.batch_size = 4, .epochs = epochs, .verbose = 0});
  });
  CHECK(text.find("fit: the number of epochs of worker 1 is 3, that of worker 0 is 2") !=
        std::string::npos);
  CHECK(text.find(". All workers must run the same program with the same options and data.") !=
        std::string::npos);
}
