// SPDX-License-Identifier: Apache-2.0
// Training in unusual processes: forked ones, and ones with odd OpenMP settings. A process that
// runs longer than a minute counts as hanging.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <spawn.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/core/threads.h"
#include "tests/support/files.h"
#include "tests/support/processes.h"

extern char** environ;

using namespace cornu;
using namespace cornu::test;

namespace {

// Takes steps that use oneDNN's threads and Cornu's own; returns the losses.
std::vector<float> train() {
  set_random_seed(5);
  Sequential model({layers::Conv2D({.filters = 16, .kernel_size = 3, .activation = "relu"}),
                    layers::Conv2D({.filters = 16, .kernel_size = 3}), layers::Flatten(),
                    layers::Dense({.units = 10})});
  model.compile(
      {.optimizer = "adam", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  const Tensor x = ops::reshape(ops::arange(32 * 16 * 16 * 3), {32, 16, 16, 3});
  const Tensor scaled = ops::cast(x, DType::Float32) / 1e4f;
  const Tensor y = ops::zeros({32}, DType::Int32);
  std::vector<float> losses;
  for (int i = 0; i < 3; ++i) {
    losses.push_back(static_cast<float>(model.train_on_batch(scaled, y).at("loss")));
  }
  return losses;
}

// Runs the test "in a process of its own" with other OpenMP settings.
int trained_with(const std::vector<std::string>& settings) {
  return spawned("in a process of its own", settings, "OMP_");
}

// Trains and saves when static objects are destroyed: the main thread's objects are gone by then.
class SavesAtExit {
 public:
  SavesAtExit() { model_.compile({.optimizer = "adam", .loss = "mse"}); }
  ~SavesAtExit() {
    try {
      train();
      model_.save((folder_ / "model.keras").string());
      Model loaded = load_model((folder_ / "model.keras").string());
      for (size_t i = 0; i < model_.weights().size(); ++i) {
        const Tensor same = model_.weights()[i].value() == loaded.weights()[i].value();
        if (!ops::all(same).item<bool>()) _exit(1);
      }
      try {
        model_.predict(x_.rows(0, 3), {.verbose = 0});  // of a new shape
      } catch (const FailedPrecondition&) {
        return;
      }
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(1);
  }
  void train() {
    model_.fit(x_, ops::gelu(ops::sum(x_, 1, true)), {.batch_size = 4, .verbose = 0});
    model_.predict(x_, {.verbose = 0});
    const Tensor noise = random::uniform({3});
    data::Iterator numbers = data::Dataset::range(8).shuffle(4).prefetch(2).iterator();
    for (data::Element element; numbers.next(element);) {
    }
  }

 private:
  testing::TempFolder folder_;
  Sequential model_{{Input({.shape = {3}}), layers::Dense({.units = 4, .activation = "relu"}),
                     layers::BatchNormalization(), layers::Dense({.units = 1})}};
  Tensor x_ = ops::reshape(ops::arange(24, DType::Float32), {8, 3});
};

}  // namespace

TEST_CASE("in a process that ends" * doctest::skip()) {
  alarm(kProcessSeconds);
  static SavesAtExit service;
  service.train();
}

TEST_CASE("destructors of static objects train, save and load") {
  CHECK(spawned("in a process that ends", {}) == 0);
}

TEST_CASE("in a process of its own" * doctest::skip()) {
  alarm(kProcessSeconds);
  try {
    train();
  } catch (const FailedPrecondition&) {
    _exit(kTypedError);
  }
}

TEST_CASE("a forked process trains, and so does its parent afterwards") {
  const ComputeThreadsScope two(2);
  const std::vector<float> expected = train();
  CHECK(forked([&] { return train() == expected; }) == 0);
  CHECK(train() == expected);
  // Also in a child of the child.
  CHECK(forked([&] {
          return train() == expected && forked([&] { return train() == expected; }) == 0;
        }) == 0);
}

TEST_CASE("training goes on where OpenMP may give fewer threads than were asked for") {
  CHECK(trained_with({"OMP_NUM_THREADS=2"}) == 0);
  CHECK(trained_with({"OMP_NUM_THREADS=2", "OMP_DYNAMIC=true"}) == 0);
  CHECK(trained_with({"OMP_NUM_THREADS=2", "OMP_THREAD_LIMIT=1"}) == 0);
  CHECK(trained_with({"OMP_NUM_THREADS=4", "OMP_THREAD_LIMIT=3"}) == 0);
}

TEST_CASE("settings of OpenMP that can't work are bounded, or an error") {
  CHECK(trained_with({"OMP_NUM_THREADS=100000"}) == 0);
  CHECK(trained_with({"OMP_NUM_THREADS=2", "OMP_STACKSIZE=16k"}) == kTypedError);
}

// oneDNN's matrix products keep the stack pointer in the middle of the heap.
TEST_CASE("handlers of signals don't disturb what is computed") {
  const auto train_dense = [] {
    set_random_seed(5);
    Sequential model(
        {layers::Dense({.units = 128, .activation = "relu"}), layers::Dense({.units = 10})});
    model.compile({.optimizer = "adam", .loss = "mse"});
    const Tensor x = random::normal({64 * 300, 784}, {.seed = 1});
    const Tensor y = random::normal({64 * 300, 10}, {.seed = 2});
    return model.fit(x, y, {.batch_size = 64, .epochs = 1, .verbose = 0}).at("loss");
  };
  const ComputeThreadsScope two(2);
  const std::vector<double> expected = train_dense();
  CHECK(forked([&] {
          std::signal(SIGALRM, [](int) {});
          const timeval often = {.tv_sec = 0, .tv_usec = 200};
          const itimerval timer = {.it_interval = often, .it_value = often};
          setitimer(ITIMER_REAL, &timer, nullptr);
          return train_dense() == expected;
        }) == 0);
}

TEST_CASE("a forked process doesn't wait for its parent's data threads") {
  const auto make = [] {
    return data::Dataset::range(100)
        .map([](const Tensor& x) { return x + int64_t{1}; })
        .prefetch(2);
  };
  auto begun = std::make_unique<data::Iterator>(make().iterator());
  data::Element element;
  REQUIRE(begun->next(element));
  CHECK(forked([&] {
          data::Element own;
          data::Iterator another = make().iterator();
          int count = 0;
          while (another.next(own)) ++count;
          begun.reset();
          return count == 100;
        }) == 0);
  CHECK(forked([&] { return begun->next(element); }) == kTypedError);
  int left = 0;
  while (begun->next(element)) ++left;
  CHECK(left == 99);
}

namespace {

struct Stopped : std::exception {};

class StopAt : public Callback {
 public:
  explicit StopAt(int64_t batch) : left_(batch) {}
  void on_train_batch_end(int64_t, const Logs&) override {
    if (left_-- == 0) throw Stopped();
  }

 private:
  int64_t left_;
};

// A program with two fits that store their states in the same place; returns the final predictions.
std::vector<float> train_twice(const std::string& filepath, int64_t stopped_at) {
  set_random_seed(8);
  const Tensor x = random::normal({12, 3}, {.seed = 1});
  const Tensor y = random::normal({12, 1}, {.seed = 2});
  Sequential model({layers::Dense({.units = 4, .activation = "relu"}),
                    layers::Dropout({.rate = 0.2}), layers::Dense({.units = 1})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  const auto checkpoint = [&] {
    return callbacks::ModelCheckpoint(
        {.filepath = filepath, .save_weights_only = true, .save_freq = 2});
  };
  FitOptions options{.batch_size = 4, .epochs = 2, .verbose = 0, .callbacks = checkpoint()};
  model.fit(x, y, options);
  options.callbacks = {checkpoint(), make_callback<StopAt>(stopped_at)};
  model.fit(x, y, options);
  return model.predict(x, {.verbose = 0})[0].to_vector<float>();
}

}  // namespace

TEST_CASE("a program of two fits that is started again goes on in the one that was stopped") {
  const testing::TempFolder folder;
  const std::vector<float> whole = train_twice((folder / "whole.weights.h5").string(), 1000);
  for (const int64_t stopped_at : {int64_t{2}, int64_t{4}}) {
    const std::string name = fmt::format("{}.weights.h5", stopped_at);
    const std::string path = (folder / name).string();
    CHECK(forked([&] {
            try {
              train_twice(path, stopped_at);
            } catch (const Stopped&) {
              return std::filesystem::exists(folder / ("." + name + ".run/fit 2/run_state"));
            }
            return false;
          }) == 0);
    CHECK(train_twice(path, 1000) == whole);
    CHECK(!std::filesystem::exists(folder / ("." + name + ".run")));
  }
}
