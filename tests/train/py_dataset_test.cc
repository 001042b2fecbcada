// SPDX-License-Identifier: Apache-2.0
// How fit, evaluate and predict use a PyDataset.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "tests/support/errors.h"
#include "tests/support/scratch.h"

using namespace cornu;
using data::PyDataset;
using test::message_of;

namespace {

// Batch i: 4 rows of 4 i, 4 i + 1, …, and twice that.
Batch counted(int64_t index) {
  const auto first = static_cast<double>(4 * index);
  const Tensor x = ops::reshape(ops::arange(first, first + 4), {4, 1}) / 10.0F;
  return {x.host(), (x * 2.0F).host(), {}};
}

class Counted : public PyDataset {
 public:
  explicit Counted(int64_t count, const data::PyDatasetOptions& options = {})
      : PyDataset(options), count_(count) {}
  int64_t num_batches() const override { return count_; }
  Batch get_item(int64_t index) override {
    {
      const std::lock_guard lock(mutex_);
      asked.push_back(index);
    }
    return counted(index);
  }
  void on_epoch_begin() override { asked.push_back(-1); }
  void on_epoch_end() override { asked.push_back(-2); }

  // The requested batches; -1 and -2 mark the beginning and end of a pass.
  std::vector<int64_t> asked;

 private:
  int64_t count_;
  std::mutex mutex_;
};

// Calls a function to get batches.
class Made : public PyDataset {
 public:
  Made(int64_t count, std::function<Batch(int64_t)> make) : count_(count), make_(std::move(make)) {}
  int64_t num_batches() const override { return count_; }
  Batch get_item(int64_t index) override { return make_(index); }

 private:
  int64_t count_;
  std::function<Batch(int64_t)> make_;
};

Sequential linear() {
  Sequential model({layers::Dense({.units = 1, .kernel_initializer = "ones"})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.001}), .loss = "mse"});
  return model;
}

using Trained = std::pair<std::vector<double>, std::vector<float>>;

template <class Batches>
Trained trained(const Batches& batches, const FitOptions& options) {
  set_random_seed(7);
  Sequential model = linear();
  const History history = model.fit(batches, options);
  return {history.at("loss"), model.get_weights()[0].to_vector<float>()};
}

// The batches of each pass, in the order in which they were created.
std::vector<std::vector<int64_t>> passes(const std::vector<int64_t>& asked) {
  std::vector<std::vector<int64_t>> found;
  bool within = false;
  for (const int64_t index : asked) {
    if (index == -1) found.emplace_back();
    if (index < 0) within = index == -1;
    if (index >= 0 && within) found.back().push_back(index);
  }
  return found;
}

}  // namespace

TEST_CASE("a PyDataset trains as a dataset of its batches does") {
  const auto dataset = data::Dataset::from_tensor_slices(
                           {(ops::reshape(ops::arange(0.0, 20.0), {20, 1}) / 10.0F),
                            (ops::reshape(ops::arange(0.0, 20.0), {20, 1}) / 10.0F) * 2.0F})
                           .batch(4);
  const FitOptions options = {.epochs = 3, .verbose = 0, .shuffle = false};
  const Trained expected = trained(dataset, options);
  CHECK(trained(std::make_shared<Counted>(5), options) == expected);
  for (const int64_t workers : {2, 4}) {
    const auto ahead = std::make_shared<Counted>(
        5, data::PyDatasetOptions{.workers = workers, .max_queue_size = 3});
    CHECK(trained(ahead, options) == expected);
  }
  const FitOptions mixed = {.epochs = 3, .verbose = 0};
  const auto ahead = std::make_shared<Counted>(5, data::PyDatasetOptions{.workers = 3});
  CHECK(trained(ahead, mixed) == trained(std::make_shared<Counted>(5), mixed));
  Sequential model = linear();
  model.fit(dataset, options);
  const auto batches = std::make_shared<Counted>(5);
  CHECK(model.evaluate(batches, {.verbose = 0}).at("loss") ==
        model.evaluate(dataset, {.verbose = 0}).at("loss"));
  CHECK(model.predict(batches, {.verbose = 0}).single().to_vector<float>() ==
        model.predict(dataset, {.verbose = 0}).single().to_vector<float>());
}

TEST_CASE("fit takes a PyDataset's batches in another order in each epoch") {
  const auto batches = std::make_shared<Counted>(9);
  Sequential model = linear();
  model.fit(batches, {.epochs = 3, .verbose = 0});
  const auto orders = passes(batches->asked);
  REQUIRE(orders.size() == 3);
  std::vector<int64_t> all(9);
  std::iota(all.begin(), all.end(), 0);
  for (std::vector<int64_t> order : orders) {
    CHECK(order != all);
    std::ranges::sort(order);
    CHECK(order == all);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
  for (const bool evaluates : {true, false}) {
    batches->asked.clear();
    if (evaluates) {
      model.evaluate(batches, {.verbose = 0});
    } else {
      model.predict(batches, {.verbose = 0});
    }
    CHECK(passes(batches->asked) == std::vector<std::vector<int64_t>>{all});
  }
  batches->asked.clear();
  model.fit(batches, {.epochs = 2, .verbose = 0, .validation_data = batches, .shuffle = false});
  CHECK(passes(batches->asked) == std::vector<std::vector<int64_t>>{all, all, all, all});
}

TEST_CASE("passes are told to a PyDataset, before and behind their batches") {
  const auto batches = std::make_shared<Counted>(2);
  Sequential model = linear();
  model.fit(batches, {.epochs = 2, .verbose = 0, .shuffle = false});
  // The first batch is read once in advance, to learn the types.
  CHECK(batches->asked == std::vector<int64_t>{0, -1, 0, 1, -2, -1, 0, 1, -2});
}

TEST_CASE("a PyDataset without an end gives each epoch its steps") {
  const auto endless = std::make_shared<Counted>(kInfiniteCardinality);
  Sequential model = linear();
  model.fit(endless, {.epochs = 2, .verbose = 0, .steps_per_epoch = 3});
  CHECK(endless->asked == std::vector<int64_t>{0, -1, 0, 1, 2, 3, 4, 5});
}

TEST_CASE("named inputs and weights of a PyDataset's examples") {
  const Tensor a = ops::ones({3, 2});
  const auto named = std::make_shared<Made>(2, [&](int64_t) {
    return Batch{Tensors{{"a", a}, {"b", a}}, ops::zeros({3, 1}), ops::ones({3})};
  });
  const Tensor left = Input({.shape = {2}, .name = "a"});
  const Tensor right = Input({.shape = {2}, .name = "b"});
  Model model({left, right}, layers::Dense({.units = 1})(left + right));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  CHECK(model.fit(named, {.verbose = 0}).at("loss").size() == 1);
}

TEST_CASE("errors of a PyDataset name the batch") {
  Sequential model = linear();
  const auto error_of = [&](const std::shared_ptr<BatchSource>& batches) {
    return message_of([&] { model.fit(batches, {.verbose = 0, .shuffle = false}); });
  };
  const auto failing = [](int64_t at) {
    return std::make_shared<Made>(3, [at](int64_t index) {
      if (index == at) throw std::runtime_error("no such picture");
      return counted(index);
    });
  };
  CHECK(test::contains(error_of(failing(2)), "PyDataset, batch 2: no such picture"));
  CHECK(test::contains(error_of(failing(0)), "PyDataset, batch 0: no such picture"));
  CHECK(test::contains(error_of(std::make_shared<Made>(3, [](int64_t) { return Batch{}; })),
                       "PyDataset, batch 0: expected a batch with data for the model, got one "
                       "without x."));
  CHECK(test::contains(
      error_of(std::make_shared<Made>(3,
                                      [](int64_t) {
                                        return Batch{ops::ones({2, 1}), {}, ops::ones({2})};
                                      })),
      "PyDataset, batch 0: expected targets along with sample weights, got none."));
  CHECK(test::contains(error_of(std::make_shared<Counted>(-3)),
                       "PyDataset: expected num_batches() >= 0, or kInfiniteCardinality, got -3."));
  CHECK(message_of([] { Counted(3, {.workers = 0}); }) ==
        "PyDataset: expected workers >= 1, got 0.");
  CHECK(message_of([] { Counted(3, {.max_queue_size = 0}); }) ==
        "PyDataset: expected max_queue_size >= 1, got 0.");
  const Counted unowned(3);
  CHECK(message_of<FailedPrecondition>([&] { unowned.iterate(); }) ==
        "PyDataset: expected an object that a shared_ptr owns, as std::make_shared makes it, got "
        "another one.");
  const std::string of_another_kind = error_of(std::make_shared<Made>(3, [](int64_t index) {
    return index < 2 ? counted(index) : Batch{ops::ones({4}), ops::ones({4, 1}), {}};
  }));
  CHECK(test::contains(
      of_another_kind,
      "map, element 2: expected the function to give (float32 (None, None), float32 (None, None)), "
      "as it did first, or as its output_signature says, got (float32 (4,), float32 (4, 1))."));
}

TEST_CASE("a PyDataset whose functions ask for its own batches says so") {
  class Nested : public Counted {
   public:
    Nested() : Counted(3) {}
    Batch get_item(int64_t index) override {
      if (index == 0) cardinality();
      return counted(index);
    }
  };
  const auto nested = std::make_shared<Nested>();
  for (int i = 0; i < 2; ++i) {
    CHECK(test::contains(
        message_of<FailedPrecondition>([&] { nested->iterate(); }),
        "PyDataset: num_batches() or get_item(0) requested the dataset's own batches"));
  }
  Sequential model = linear();
  const std::shared_ptr<PyDataset> none;
  CHECK(
      test::contains(message_of([&] { model.fit(none); }), "expected batches, got a null pointer"));
  CHECK(test::contains(message_of([&] { model.predict(none); }),
                       "expected batches, got a null pointer"));
}

TEST_CASE("a run over a PyDataset is resumed with the same bits") {
  const auto run = [](const std::string& folder, int64_t stop_after) {
    set_random_seed(3);
    Sequential model = linear();
    int64_t steps = 0;
    const callbacks::LambdaCallback stops({.on_train_batch_end = [&](int64_t, const Logs&) {
      if (++steps == stop_after) throw std::runtime_error("stopped");
    }});
    const callbacks::BackupAndRestore keeps({.backup_dir = folder, .save_freq = 1});
    const auto batches = std::make_shared<Counted>(7, data::PyDatasetOptions{.workers = 2});
    try {
      model.fit(batches, {.epochs = 3, .verbose = 0, .callbacks = {keeps, stops}});
    } catch (const std::exception&) {
      CHECK(stop_after > 0);
    }
    return model.get_weights()[0].to_vector<float>();
  };
  const test::Scratch folder;
  const auto whole = run(folder.path("whole"), 0);
  for (const int64_t stop_after : {3, 7, 10}) {
    const std::string state = folder.path(std::to_string(stop_after));
    run(state, stop_after);
    CHECK(run(state, 0) == whole);
  }
}

TEST_CASE("replicas share a PyDataset's batches") {
  const FitOptions options = {.epochs = 2, .verbose = 0};
  const Trained alone = trained(std::make_shared<Counted>(5), options);
  config::set_logical_device_configuration(config::list_physical_devices(DeviceType::Cpu).front(),
                                           2);
  distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
  const auto scope = strategy.scope();
  const Trained shared = trained(std::make_shared<Counted>(5), options);
  for (size_t i = 0; i < alone.first.size(); ++i) {
    CHECK(shared.first[i] == doctest::Approx(alone.first[i]).epsilon(1e-5));
  }
  CHECK(shared.second[0] == doctest::Approx(alone.second[0]).epsilon(1e-5));
}

TEST_CASE("workers take their parts of a PyDataset") {
  const auto batches = std::make_shared<Counted>(5);
  for (const int64_t index : {0, 1}) {
    const auto part = batches->shard(2, index)->iterate();
    batches->asked.clear();
    std::vector<float> first;
    for (Batch batch; part->next(batch);) {
      if (examples_of(batch) > 0) first.push_back(batch.x.single()(0, 0).item<float>() * 10);
    }
    CHECK(first == (index == 0 ? std::vector<float>{0, 8, 16} : std::vector<float>{4, 12}));
    // A shard with fewer batches yields an empty one, with the types of the first batch.
    CHECK(passes(batches->asked)[0] ==
          (index == 0 ? std::vector<int64_t>{0, 2, 4} : std::vector<int64_t>{1, 3, 0}));
  }
}
