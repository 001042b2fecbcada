// SPDX-License-Identifier: Apache-2.0
// The thread pool that pipelines share: nesting, blocked tasks, early ends, forks.
#include "data/pool.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "framework/core/threads.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using Numbers = std::vector<int64_t>;

namespace {

data::MapOptions on_host(int64_t calls) {
  return {
      .num_parallel_calls = calls,
      .output_signature = data::ElementSpec{.types = {{DType::Int64, Shape{}}}, .structure = {}},
      .traced = false};
}

int64_t value(const Tensor& x) { return x.item<int64_t>(); }

// A door that functions wait at until it is opened.
class Door {
 public:
  void pass() {
    ++arrived_;
    arrived_.notify_all();
    open_.wait(false);
  }
  void wait_for(int64_t count) const {
    for (int64_t now = arrived_; now < count; now = arrived_) arrived_.wait(now);
  }
  void open() {
    open_ = true;
    open_.notify_all();
  }
  int64_t arrived() const { return arrived_; }

 private:
  std::atomic<int64_t> arrived_ = 0;
  std::atomic<bool> open_ = false;
};

// 0, 1, …, computed by a function that waits at the door.
Dataset waiting(Door& door, int64_t count, int64_t calls) {
  const auto f = [&door](const Tensor& x) {
    door.pass();
    return x;
  };
  return Dataset::range(count).map(f, on_host(calls));
}

// The sum over a pipeline whose function runs a pipeline itself, `depth` levels deep.
int64_t nested(int64_t number, int64_t depth, int64_t calls) {
  if (depth == 0) return number;
  int64_t sum = 0;
  const auto f = [depth, calls](const Tensor& x) {
    return Tensor::scalar(nested(value(x), depth - 1, calls));
  };
  for (const Element& element : Dataset::range(number).map(f, on_host(calls)).prefetch(1)) {
    sum += value(element.tensor(0));
  }
  return sum;
}

}  // namespace

TEST_CASE("the pool is of the machine's size") {
  const data::Pool& pool = data::Pool::shared();
  CHECK(data::usable_cores() >= 1);
  CHECK(pool.size() == std::max<int64_t>(2, data::usable_cores()));
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto f = [&](const Tensor& x) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return x;
  };
  std::vector<Dataset> datasets;
  for (int i = 0; i < 8; ++i) datasets.push_back(Dataset::range(50).map(f, on_host(8)));
  for (const Dataset& dataset : datasets) CHECK(numbers(dataset).size() == 50);
  CHECK(std::ssize(threads) <= pool.size() + 1);  // this thread also runs tasks not begun yet
}

TEST_CASE("what is computed for a pipeline takes one core, whichever thread does it") {
  const auto f = [](const Tensor&) { return Tensor::scalar(int64_t{compute_threads()}); };
  for (const int64_t calls : {2, 8}) {
    CHECK(numbers(Dataset::range(40).map(f, on_host(calls))) == Numbers(40, 1));
  }
}

TEST_CASE("pipelines may be gone through in the functions of others") {
  for (const int64_t calls : {int64_t{2}, int64_t{5}, data::kAutotune}) {
    const auto f = [calls](const Tensor& x) { return Tensor::scalar(nested(value(x), 3, calls)); };
    const auto dataset = Dataset::range(9).map(f, on_host(calls));
    // Binomial coefficients: x over 4, since the sums exclude their upper ends.
    CHECK(numbers(dataset) == Numbers{0, 0, 0, 0, 1, 5, 15, 35, 70});
  }
}

TEST_CASE("a pipeline goes on while all threads are kept by others") {
  Door door;
  const int64_t size = data::Pool::shared().size();
  const Dataset blocked = waiting(door, 4 * size, size + 1);
  auto others = std::async(std::launch::async, [&] { return numbers(blocked); });
  door.wait_for(size);
  const auto f = [](const Tensor& x) { return Tensor::scalar(2 * value(x)); };
  for (const int64_t calls : {int64_t{4}, data::kAutotune}) {
    Numbers expected;
    for (int64_t i = 0; i < 100; ++i) expected.push_back(2 * i);
    CHECK(numbers(Dataset::range(100).map(f, on_host(calls)).prefetch(data::kAutotune)) ==
          expected);
  }
  door.open();
  CHECK(std::ssize(others.get()) == 4 * size);
}

TEST_CASE("what hasn't begun is dropped with its iterator") {
  for (const int64_t ahead : {0, 3}) {
    Door door;
    const Dataset dataset = waiting(door, 1000, 2).prefetch(ahead);
    auto iterator = std::make_unique<data::Iterator>(dataset.iterator());
    auto first = std::async(std::launch::async, [&] { return numbers(*iterator, 1); });
    door.wait_for(1);
    door.open();
    CHECK(first.get() == Numbers{0});
    iterator.reset();
    CHECK(door.arrived() <= 1 + ahead + 1 + 4);  // taken, prefetched, in hand and in flight
  }
}

TEST_CASE("an iterator is destroyed while a reader waits") {
  for (const int64_t calls : {int64_t{1}, int64_t{3}, data::kAutotune}) {
    Door door;
    // The prefetching thread waits for a task, which waits at the door.
    const auto slow = [&door](const Tensor& x) {
      if (value(x) > 0) door.pass();
      return x;
    };
    const Dataset dataset = Dataset::range(1000).map(slow, on_host(calls)).prefetch(2);
    auto iterator = std::make_unique<data::Iterator>(dataset.iterator());
    CHECK(numbers(*iterator, 1) == Numbers{0});
    door.wait_for(1);
    std::latch begun(1);
    auto end = std::async(std::launch::async, [&] {
      begun.count_down();
      iterator.reset();
    });
    begun.wait();
    door.open();
    end.get();
    CHECK(door.arrived() <= 2 + 1 + std::max<int64_t>(6, 2 * data::usable_cores()));
  }
}

TEST_CASE("errors come at their places from any thread") {
  const auto f = [](const Tensor& x) {
    check<DataLoss>(value(x) % 7 != 6, "{} is broken", value(x));
    return x;
  };
  for (const int64_t calls : {int64_t{1}, int64_t{2}, int64_t{8}, data::kAutotune}) {
    const auto dataset = Dataset::range(6)
                             .map(f, on_host(calls))
                             .repeat(2)
                             .concatenate(Dataset::range(6, 9).map(f, on_host(calls)));
    auto iterator = dataset.iterator();
    CHECK(numbers(iterator, 12).size() == 12);
    Element element;
    CHECK(contains(message_of<DataLoss>([&] { iterator.next(element); }), "6 is broken"));
  }
}

TEST_CASE("many pipelines at once") {
  const auto f = [](const Tensor& x) { return Tensor::scalar(value(x) + 1); };
  const Dataset dataset =
      Dataset::range(300).map(f, on_host(data::kAutotune)).batch(7).prefetch(data::kAutotune);
  const Numbers expected = numbers(dataset);
  std::vector<std::future<bool>> all;
  for (int i = 0; i < 16; ++i) {
    all.push_back(std::async(std::launch::async, [&, i] {
      if (i % 2 == 0) return numbers(dataset) == expected;
      auto iterator = dataset.iterator();  // left in the middle
      return numbers(iterator, 5) == Numbers(expected.begin(), expected.begin() + 35);
    }));
  }
  for (auto& one : all) CHECK(one.get());
}

// The thread sanitizer doesn't support threads in the child of a multithreaded process.
#ifndef __SANITIZE_THREAD__
TEST_CASE("a child of a fork has a pool of its own") {
  const auto f = [](const Tensor& x) { return Tensor::scalar(value(x) + 1); };
  const Dataset dataset = Dataset::range(50).map(f, on_host(2)).prefetch(2);
  const Numbers expected = numbers(dataset);
  auto iterator = dataset.iterator();
  CHECK(numbers(iterator, 3) == Numbers{1, 2, 3});
  const pid_t child = fork();
  if (child == 0) {
    Element element;
    const bool refused =
        contains(message_of<FailedPrecondition>([&] { iterator.next(element); }), "forked");
    _exit(refused && numbers(dataset) == expected ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(numbers(iterator, 2) == Numbers{4, 5});
}
#endif
