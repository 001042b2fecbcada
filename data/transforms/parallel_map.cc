// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/parallel_map.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "framework/core/cpu_quota.h"
#include "framework/core/threads.h"

namespace cornu::data {
namespace {

class SerialMapStream : public Stream<Element> {
 public:
  SerialMapStream(StreamPtr<Element> input, NumberedFunction f)
      : input_(std::move(input)), f_(std::move(f)) {}

  bool next(Element& element) override {
    if (!input_.next(element)) return false;
    element = f_(element, input_.taken() - 1);
    return true;
  }
  int64_t skip(int64_t count) override { return input_.skip(count); }

  Json save() const override { return input_.save(); }
  void restore(const Json& state) override { input_.restore(state); }

 private:
  Input<Element> input_;
  NumberedFunction f_;
};

// Threads that take tasks in order; one consumer adds tasks and takes their results in that order.
class MapWorkers {
 public:
  MapWorkers(const NumberedFunction& f, int64_t count) : f_(f) {
    try {
      while (std::ssize(threads_) < count) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {  // fewer do as well
      check<ResourceExhausted>(!threads_.empty(), "map: no thread can be started: {}.",
                               error.what());
    }
  }

  ~MapWorkers() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    added_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  MapWorkers(const MapWorkers&) = delete;
  MapWorkers& operator=(const MapWorkers&) = delete;

  // Were the threads started by this very process, not by one that forked it?
  bool is_ours() const { return process_ == getpid(); }

  // Tasks whose results weren't taken. They change by the consumer's calls alone.
  int64_t size() const { return std::ssize(tasks_); }

  void add(Element element, int64_t number) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back({.element = std::move(element), .number = number});
    }
    added_.notify_one();
  }

  // The oldest task's result, or what it threw.
  Element take() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return tasks_.front().done; });
    Task task = pop();
    if (task.error) std::rethrow_exception(task.error);
    return std::move(task.element);
  }

  // Leaves the oldest task out.
  void drop() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return begun_ == 0 || tasks_.front().done; });
    pop();
  }

 private:
  struct Task {
    Element element = {};  // then the result
    int64_t number = 0;
    bool done = false;
    std::exception_ptr error = {};
  };

  Task pop() {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    if (begun_ > 0) --begun_;
    return task;
  }

  void work() {
    // Data threads stay out of OpenMP: starting a team for one costs milliseconds.
    const ComputeThreadsScope one(1);
    std::unique_lock lock(mutex_);
    for (;;) {
      added_.wait(lock, [this] { return stopped_ || begun_ < tasks_.size(); });
      if (stopped_) return;
      Task& task = tasks_[begun_++];  // it stays where it is until it is done
      lock.unlock();
      run(task);
      lock.lock();
      task.done = true;
      done_.notify_one();
    }
  }

  void run(Task& task) const {
    try {
      task.element = f_(task.element, task.number);
    } catch (...) {
      task.error = std::current_exception();
    }
  }

  const NumberedFunction& f_;
  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable added_;
  std::condition_variable done_;
  std::deque<Task> tasks_;  // guarded by mutex_, as all below
  size_t begun_ = 0;        // those at the front that a thread has taken
  bool stopped_ = false;
  std::vector<std::thread> threads_;  // last: they use the others
};

class ParallelMapStream : public Stream<Element> {
 public:
  ParallelMapStream(StreamPtr<Element> input, NumberedFunction f, int64_t calls)
      : input_(std::move(input)), f_(std::move(f)), calls_(calls) {}

  ~ParallelMapStream() override {
    // Threads that aren't there can't be ended.
    if (workers_ && !workers_->is_ours()) static_cast<void>(workers_.release());
  }

  bool next(Element& element) override {
    if (!workers_) workers_ = std::make_unique<MapWorkers>(f_, calls_);
    check<FailedPrecondition>(workers_->is_ours(),
                              "map: this iteration was begun before the process forked, and its "
                              "threads are the parent's. Begin a new one in the child.");
    fill();
    if (workers_->size() > 0) {
      pass_one();
      element = workers_->take();
      return true;
    }
    throw_error();
    return false;
  }

  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    for (; workers_ && workers_->size() > 0 && skipped < count; ++skipped) {
      pass_one();
      workers_->drop();
    }
    if (skipped == count) return skipped;
    throw_error();
    return ended_ ? skipped : skipped + input_.skip(count - skipped);
  }

  // After what next() gave, not after what was begun.
  Json save() const override { return workers_ && !positions_.empty() ? position_ : input_.save(); }
  void restore(const Json& state) override { input_.restore(state); }

 private:
  // Gives every thread what it does, and something to do next.
  void fill() {
    while (!ended_ && !error_ && workers_->size() < 2 * calls_) {
      Element element;
      try {
        ended_ = !input_.next(element);
      } catch (...) {  // thrown when all before it has been taken
        error_ = std::current_exception();
      }
      if (ended_) continue;
      positions_.push_back(input_.save());
      if (!error_) workers_->add(std::move(element), input_.taken() - 1);
    }
  }

  void throw_error() {
    if (!error_) return;
    pass_one();
    std::rethrow_exception(std::exchange(error_, nullptr));
  }

  void pass_one() {
    position_ = std::move(positions_.front());
    positions_.pop_front();
  }

  Input<Element> input_;
  NumberedFunction f_;
  int64_t calls_;
  bool ended_ = false;
  std::exception_ptr error_;             // of the element behind those that were begun
  std::deque<Json> positions_;           // after each of these
  Json position_;                        // after what next() gave, if there are any of these
  std::unique_ptr<MapWorkers> workers_;  // last: it uses f_
};

// Throws the same kind of error with another text.
template <class... Kinds>
void raise_again(const Error& error, const std::string& text) {
  const StatusCode code = error.code();
  (static_cast<void>(code == Kinds("").code() ? throw Kinds(text) : 0), ...);
}

int64_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int64_t cores = sched_getaffinity(0, sizeof(set), &set) == 0
                            ? CPU_COUNT(&set)
                            : static_cast<int64_t>(std::thread::hardware_concurrency());
  return std::clamp<int64_t>(cpu_quota().value_or(INT32_MAX), 1, std::max<int64_t>(cores, 1));
}

}  // namespace

StreamPtr<Element> make_parallel_map(StreamPtr<Element> input, NumberedFunction f, int64_t calls) {
  if (calls == 1) return std::make_unique<SerialMapStream>(std::move(input), std::move(f));
  return std::make_unique<ParallelMapStream>(std::move(input), std::move(f), calls);
}

NumberedFunction with_place(NumberedFunction f, const char* who) {
  return [f = std::move(f), who](const Element& element, int64_t number) {
    try {
      return f(element, number);
    } catch (const Error& error) {
      raise_again<InvalidArgument, NotFound, AlreadyExists, ResourceExhausted, FailedPrecondition,
                  OutOfRange, Unimplemented, Internal, DataLoss>(
          error, fmt::format("{}, element {}: {}", who, number, error.what()));
      throw;  // a kind that isn't about the element
    }
  };
}

int64_t resolve_parallel_calls(const std::optional<int64_t>& calls, const char* who) {
  const int64_t asked = calls.value_or(1);
  check<InvalidArgument>(
      asked >= 1 || asked == kAutotune,
      "{}: expected num_parallel_calls of at least 1, or data::kAutotune, got {}.", who, asked);
  static const int64_t cores = usable_cores();
  // More threads than this would wait for each other alone.
  return asked == kAutotune ? cores : std::min<int64_t>(asked, 8 * std::max<int64_t>(cores, 8));
}

}  // namespace cornu::data
