// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/ordered_tasks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "framework/core/threads.h"

namespace cornu::data {

OrderedTasks::OrderedTasks(NumberedFunction f, int64_t calls, Stage* stage)
    : f_(std::move(f)), calls_(calls), stage_(stage), process_(getpid()) {}

bool OrderedTasks::is_ours() const { return process_ == getpid(); }

int64_t OrderedTasks::done() const {
  const std::lock_guard lock(mutex_);
  return std::count_if(tasks_.begin(), tasks_.end(), [](const auto& task) { return task->done; });
}

void OrderedTasks::add(Element element, int64_t number) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::make_unique<Task>(Task{.element = std::move(element), .number = number}));
  ask_for_thread();
}

Element OrderedTasks::take() {
  std::unique_lock lock(mutex_);
  last_.waited = !tasks_.front()->done;
  // Doesn't run tasks behind the oldest: they might take long, or wait for what the consumer does
  // with the oldest task's result.
  while (!tasks_.front()->done) {
    if (begun_ == 0) {
      const ComputeThreadsScope one(1);  // as on the pool's threads
      run_next(lock);
    } else {
      wait_for_oldest(lock);
    }
  }
  return result_of(0, lock);
}

Element OrderedTasks::take_any(int64_t& number) {
  std::unique_lock lock(mutex_);
  const auto first_done = [this] {
    return std::find_if(tasks_.begin(), tasks_.end(), [](const auto& task) { return task->done; });
  };
  auto found = first_done();
  last_.waited = found == tasks_.end();
  if (last_.waited && begun_ == 0) {
    const ComputeThreadsScope one(1);
    run_next(lock);
  } else if (last_.waited) {
    const StageTimer timer(stage_, StageTimer::Kind::Starved);
    waits_for_any_ = true;
    done_.wait(lock, [&] { return first_done() != tasks_.end(); });
    waits_for_any_ = false;
  }
  found = first_done();
  number = (*found)->number;
  return result_of(static_cast<size_t>(found - tasks_.begin()), lock);
}

// Called with the lock held, which it releases.
Element OrderedTasks::result_of(size_t place, std::unique_lock<std::mutex>& lock) {
  const auto task = pop(place);
  lock.unlock();
  last_.nanoseconds = task->nanoseconds;
  if (task->error) std::rethrow_exception(task->error);
  return std::move(task->element);
}

Element OrderedTasks::run_here(Element element, int64_t number) {
  Task task = {.element = std::move(element), .number = number};
  {
    const ComputeThreadsScope one(1);
    run(task);
  }
  last_ = {.nanoseconds = task.nanoseconds};
  if (task.error) std::rethrow_exception(task.error);
  return std::move(task.element);
}

void OrderedTasks::drop() {
  std::unique_lock lock(mutex_);
  if (begun_ > 0) wait_for_oldest(lock);
  const auto dropped = pop(0);
  lock.unlock();  // before the element is destroyed
}

void OrderedTasks::stop() {
  NumberedFunction f;
  std::unique_lock lock(mutex_);
  stopped_ = true;
  done_.wait(lock, [this] { return running_ == 0; });
  f.swap(f_);
  while (!tasks_.empty()) {
    auto dropped = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();  // before the element is destroyed
    dropped.reset();
    lock.lock();
  }
  lock.unlock();
}

void OrderedTasks::run_one() {
  std::unique_lock lock(mutex_);
  waits_for_thread_ = false;
  if (may_begin()) run_next(lock);
}

void OrderedTasks::run_next(std::unique_lock<std::mutex>& lock) {
  Task& task = *tasks_[static_cast<size_t>(begun_++)];  // not removed until it is done
  ++running_;
  ask_for_thread();  // for the next task
  lock.unlock();
  run(task);
  lock.lock();
  task.done = true;
  --running_;
  ask_for_thread();
  if (stopped_ || waits_for_any_ || &task == tasks_.front().get()) done_.notify_one();
}

bool OrderedTasks::may_begin() const {
  return !stopped_ && begun_ < std::ssize(tasks_) && running_ < calls_;
}

void OrderedTasks::ask_for_thread() {
  if (waits_for_thread_ || !may_begin()) return;
  try {
    Pool::shared().add(shared_from_this());
    waits_for_thread_ = true;
  } catch (const std::bad_alloc&) {  // whoever waits for the task runs it
  }
}

void OrderedTasks::wait_for_oldest(std::unique_lock<std::mutex>& lock) {
  const StageTimer timer(stage_, StageTimer::Kind::Starved);
  done_.wait(lock, [this] { return tasks_.front()->done; });
}

std::unique_ptr<OrderedTasks::Task> OrderedTasks::pop(size_t place) {
  auto task = std::move(tasks_[place]);
  tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(place));
  if (begun_ > 0) --begun_;
  return task;
}

void OrderedTasks::run(Task& task) const {
  const StageTimer timer(stage_, StageTimer::Kind::Work);
  const auto start = std::chrono::steady_clock::now();
  try {
    task.element = f_(task.element, task.number);
  } catch (...) {
    task.error = std::current_exception();
  }
  task.nanoseconds = (std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1);
}

}  // namespace cornu::data
