// SPDX-License-Identifier: Apache-2.0
// Datasets made by a function, of which each of several processes has its own, with different
// lengths: run by on_workers.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/distribute/models.h"
#include "tests/support/errors.h"

using namespace cornu;
using distribute::InputContext;
using distribute::PerReplica;
using test::workers;

namespace {

constexpr int64_t kBatch = 2;  // per replica
const data::ElementSpec kNumber = {.types = {{DType::Float64, Shape{}}}, .structure = {}};

// Number of rows of each worker: equal, different, and none from the start.
const std::vector<std::vector<int64_t>> kRows = {{8, 8, 8}, {3, 14, 6}, {9, 0, 5}, {0, 7, 0}};

Tensor inputs_of(int64_t worker, int64_t rows) {
  return random::normal({rows, 3}, {.dtype = DType::Float64, .seed = 10 + worker});
}
Tensor targets_of(const Tensor& x) { return ops::sum(x * x, 1, true); }

class Uneven {
 public:
  Uneven(const Strategy& strategy, const std::vector<int64_t>& rows)
      : strategy_(strategy), rows_(rows) {
    rows_.resize(static_cast<size_t>(strategy.impl().num_workers()));
  }

  distribute::DistributedDataset distributed() const {
    return strategy_.distribute_datasets_from_function([this](const InputContext& context) {
      CHECK(context.num_input_pipelines == static_cast<int64_t>(rows_.size()));
      const int64_t worker = context.input_pipeline_id;
      const Tensor x = inputs_of(worker, 20);
      return data::Dataset::from_tensor_slices(data::Element{Tensors{{"x", x}}, targets_of(x)})
          .take(rows_[static_cast<size_t>(worker)])
          .batch(context.get_per_replica_batch_size(kBatch * context.num_replicas_in_sync));
    });
  }

  // This worker's own rows in global batches.
  data::Dataset whole() const {
    data::Options options;
    options.distribute.auto_shard_policy = data::AutoShardPolicy::Off;
    const int64_t worker = strategy_.impl().worker();
    const Tensor x = inputs_of(worker, 20);
    return data::Dataset::from_tensor_slices(data::Element{Tensors{{"x", x}}, targets_of(x)})
        .take(rows_[static_cast<size_t>(worker)])
        .batch(kBatch * strategy_.num_replicas_in_sync())
        .with_options(options);
  }

  // The rows of all workers in each step, one worker's after another's.
  std::vector<Batch> global_batches() const {
    const auto step = kBatch * static_cast<int64_t>(strategy_.impl().devices().size());
    std::vector<Batch> batches;
    for (int64_t begin = 0; begin < *std::ranges::max_element(rows_); begin += step) {
      std::vector<Tensor> parts;
      for (size_t worker = 0; worker < rows_.size(); ++worker) {
        const Tensor x = inputs_of(static_cast<int64_t>(worker), 20);
        parts.push_back(
            x.rows(std::min(begin, rows_[worker]), std::min(begin + step, rows_[worker])));
      }
      const Tensor x = ops::concatenate(parts);
      batches.push_back({.x = Tensors{{"x", x}}, .y = targets_of(x), .sample_weight = {}});
    }
    return batches;
  }

 private:
  const Strategy& strategy_;
  std::vector<int64_t> rows_;
};

Model compiled_model() {
  const Tensor input = Input({.shape = {3}, .dtype = DType::Float64, .name = "x"});
  const auto dense = [](int64_t units, int64_t seed) {
    return layers::Dense({.units = units,
                          .activation = units > 1 ? "tanh" : "linear",
                          .kernel_initializer = initializers::GlorotUniform({.seed = seed}),
                          .dtype = "float64"});
  };
  const Tensor hidden =
      layers::Dropout({.rate = 0.25, .seed = 7, .dtype = "float64"})(dense(5, 1)(input));
  Model model(Tensors{{"x", input}}, dense(1, 2)(hidden));
  model.compile(
      {.optimizer = optimizers::Adam({.learning_rate = 0.05}), .loss = "mse", .metrics = {"mae"}});
  return model;
}

// The results of a training run with validation, and of an evaluation.
struct Trained {
  std::vector<double> weights;
  std::vector<double> figures;  // float32
};

template <class Batches>
Trained trained(const Batches& batches) {
  Model model = compiled_model();
  Trained result;
  for (const auto& [name, values] :
       model.fit(batches, {.epochs = 3, .verbose = 0, .validation_data = batches})) {
    result.figures.insert(result.figures.end(), values.begin(), values.end());
  }
  for (const auto& [name, value] : model.evaluate(batches, {.verbose = 0})) {
    result.figures.push_back(value);
  }
  for (const Tensor& weight : model.get_weights()) {
    for (const double value : weight.to_vector<double>()) result.weights.push_back(value);
  }
  return result;
}

void check_close(const std::vector<double>& got, const std::vector<double>& expected, double most) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(std::abs(got[i] - expected[i]) <= most * std::max(1.0, std::abs(expected[i])));
  }
}

// Yields global batches, for one device.
auto generator_of(const std::vector<Batch>& batches) {
  return [batches, next = size_t{0}]() mutable -> std::optional<Batch> {
    return next == batches.size() ? std::nullopt : std::optional(batches[next++]);
  };
}

}  // namespace

TEST_CASE("workers that run out of batches take part until all have" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  for (const std::vector<int64_t>& rows : kRows) {
    CAPTURE(fmt::format("{}", fmt::join(rows, ", ")));
    const Uneven uneven(strategy, rows);
    const Trained expected = trained(generator_of(uneven.global_batches()));
    const auto scope = strategy.scope();
    const Trained got = trained(uneven.distributed());
    CHECK(got.figures.size() == 14);
    check_close(got.weights, expected.weights, 1e-9);
    check_close(got.figures, expected.figures, 1e-6);
  }
}

TEST_CASE("workers whose whole datasets have other lengths take part until all have run out" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const int64_t global = kBatch * strategy.num_replicas_in_sync();
  const std::vector<int64_t> lengths[] = {{global, 2 * global, 0}, {2 * global, 0, global}};
  for (const std::vector<int64_t>& rows : lengths) {
    CAPTURE(fmt::format("{}", fmt::join(rows, ", ")));
    const Uneven uneven(strategy, rows);
    const Trained expected = trained(generator_of(uneven.global_batches()));
    const auto scope = strategy.scope();
    const Trained got = trained(uneven.whole());
    check_close(got.weights, expected.weights, 1e-9);
    check_close(got.figures, expected.figures, 1e-6);
    int64_t examples = 0;
    for (const PerReplica& batch : strategy.distribute_dataset(uneven.whole())) {
      for (size_t i = 0; i < batch.size(); ++i) examples += batch.arguments(i)[0]["x"].dim(0);
    }
    CHECK(examples == rows[static_cast<size_t>(strategy.impl().worker())]);
  }
}

TEST_CASE("global batches that are distributed already aren't divided once more" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const Tensor x = inputs_of(0, 23);
  const auto dataset =
      data::Dataset::from_tensor_slices(data::Element{Tensors{{"x", x}}, targets_of(x)})
          .shuffle(9, {.seed = 3})
          .batch(5);
  const Trained expected = trained(dataset);
  const auto scope = strategy.scope();
  const Trained got = trained(strategy.distribute_dataset(dataset));
  check_close(got.weights, expected.weights, 1e-9);
  check_close(got.figures, expected.figures, 1e-6);
}

namespace {

// A custom training loop.
struct Loop {
  Variable w{ops::zeros({3, 1}, DType::Float64), {.name = "w"}};
  optimizers::SGD optimizer{{.learning_rate = 0.05}};
  Function step = function([this](const Tensors& x, const Tensor& y) {
    GradientTape tape;
    const Tensor error = ops::matmul(x["x"], w) - y;
    const Tensor loss = distribute::compute_average_loss(ops::sum(error * error, 1));
    optimizer.apply_gradients({tape.gradient(loss, w)}, {w});
    return loss;
  });
};

}  // namespace

TEST_CASE("losses of a training loop whose workers run out" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  for (const std::vector<int64_t>& rows : kRows) {
    CAPTURE(fmt::format("{}", fmt::join(rows, ", ")));
    const Uneven uneven(strategy, rows);
    const Loop one;
    std::vector<double> expected;
    for (const Batch& batch : uneven.global_batches()) {
      expected.push_back(one.step(batch.x, batch.y).item<double>());
    }
    const auto scope = strategy.scope();
    const Loop all;
    std::vector<double> losses;
    for (const PerReplica& batch : uneven.distributed()) {
      losses.push_back(
          strategy.reduce(ReduceOp::Sum, strategy.run(all.step, batch)).item<double>());
    }
    check_close(losses, expected, 1e-9);
    check_close(all.w.to_vector<double>(), one.w.to_vector<double>(), 1e-9);
  }
}

TEST_CASE("a loop over batches of workers that run out" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const Function step = function([](const Tensors& x, const Tensor& y) {
    const Tensor sum = ops::sum(x["x"]) + ops::sum(y);
    return distribute::get_replica_context().all_reduce(ReduceOp::Sum, sum);
  });
  for (const std::vector<int64_t>& rows : kRows) {
    CAPTURE(fmt::format("{}", fmt::join(rows, ", ")));
    const Uneven uneven(strategy, rows);
    const auto batches = uneven.distributed();
    CHECK_FALSE(batches.cardinality().has_value());
    std::vector<double> expected;
    for (const Batch& batch : uneven.global_batches()) {
      expected.push_back((ops::sum(batch.x["x"]) + ops::sum(batch.y)).item<double>());
    }
    const auto sums_of = [&](distribute::DistributedIterator& iterator, size_t most) {
      std::vector<double> sums;
      PerReplica batch;
      while (sums.size() < most && iterator.next(batch)) {
        sums.push_back(strategy.run(step, batch)[0].item<double>());
      }
      return sums;
    };
    const auto check_sums = [&](const std::vector<double>& sums, size_t first) {
      check_close(sums, {expected.begin() + static_cast<int64_t>(first), expected.end()}, 1e-9);
    };
    for (int pass = 0; pass < 2; ++pass) {
      auto iterator = batches.iterator();
      check_sums(sums_of(iterator, 100), 0);
      PerReplica more;
      CHECK_FALSE(iterator.next(more));
    }
    // From a position after which some workers have nothing left.
    auto stopped = batches.iterator();
    sums_of(stopped, 2);
    auto restored = batches.iterator();
    restored.restore(stopped.save());
    check_sums(sums_of(restored, 100), std::min<size_t>(2, expected.size()));
  }
}

TEST_CASE("steps of workers whose batches never end, beside some that do" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  for (const bool all : {true, false}) {
    CAPTURE(all);
    const auto batches =
        strategy.distribute_datasets_from_function([&](const InputContext& context) {
          const auto one = data::Dataset::from_tensor_slices(ops::ones({4}, DType::Float64));
          return (all || context.input_pipeline_id == 0 ? one.repeat() : one).batch(4);
        });
    const Function step = function([](const Tensor& x) {
      return distribute::get_replica_context().all_reduce(ReduceOp::Sum, ops::sum(x));
    });
    auto iterator = batches.iterator();
    PerReplica batch;
    std::vector<double> sums;
    while (sums.size() < 5 && iterator.next(batch)) {
      sums.push_back(strategy.run(step, batch)[0].item<double>());
    }
    const auto replicas = static_cast<double>(strategy.num_replicas_in_sync());
    const auto local = static_cast<double>(batch.size());
    CHECK(sums.size() == 5);
    CHECK(sums.front() ==
          4 * (all ? replicas : local + static_cast<double>(strategy.impl().num_workers() - 1)));
    CHECK(sums.back() == 4 * (all ? replicas : local));
  }
}

TEST_CASE("batches that were said never to end, but do" * doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  // Six elements in total, and then repeatedly nothing; for the first worker, or for all.
  const auto steps = [&](bool all, bool empty) {
    const auto batches =
        strategy.distribute_datasets_from_function([&](const InputContext& context) {
          if (!all && context.input_pipeline_id != 0) {
            return data::Dataset::from_tensor_slices(ops::ones({6}, DType::Float64)).batch(2);
          }
          const auto left = std::make_shared<int>(empty ? 0 : 6);
          const data::Generator numbers([left] {
            return [left]() -> std::optional<data::Element> {
              if (*left == 0) return std::nullopt;
              --*left;
              return Tensor::scalar(1.0);
            };
          });
          return data::Dataset::from_generator(numbers, {.output_signature = kNumber})
              .repeat()
              .batch(2);
        });
    auto iterator = batches.iterator();
    PerReplica batch;
    int count = 0;
    while (count < 20 && iterator.next(batch)) ++count;
    return count;
  };
  const auto local =
      static_cast<int>(strategy.num_replicas_in_sync() / strategy.impl().num_workers());
  CHECK(steps(false, false) == (3 + local - 1) / local);
  CHECK(steps(false, true) == (3 + local - 1) / local);
  CHECK(test::message_of([&] { steps(true, false); }).find("said that it never ends") !=
        std::string::npos);
}
