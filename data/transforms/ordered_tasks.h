// SPDX-License-Identifier: Apache-2.0
// A function of elements as tasks of the pool, whose results are taken in order, or as they come.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>

#include "data/pool.h"
#include "data/transforms/parallel_map.h"

namespace cornu::data {

// One thread adds tasks and takes their results; those of the pool do them in that order, at most
// `calls` at a time.
class OrderedTasks : public PoolWork, public std::enable_shared_from_this<OrderedTasks> {
 public:
  // `stage`: null where nothing is measured.
  OrderedTasks(NumberedFunction f, int64_t calls, Stage* stage);

  // Was it made by this very process, not by one that forked it?
  bool is_ours() const;

  // Tasks whose results weren't taken. Their number changes by the caller's calls alone.
  int64_t size() const { return std::ssize(tasks_); }
  // Of these, those that are done.
  int64_t done() const;

  void add(Element element, int64_t number);
  // The oldest task's result, or what it threw. A task that hasn't begun is done by the caller.
  Element take();
  // The same of the oldest one that is done, or of the first that will be; `number`: the element's.
  Element take_any(int64_t& number);
  // What is no task: the function of an element, by the caller. Throws what it throws.
  Element run_here(Element element, int64_t number);
  // About the result that was taken, or computed here, last.
  struct Taken {
    int64_t nanoseconds = 0;  // that the function took
    bool waited = false;      // it wasn't there yet
  };
  const Taken& last() const { return last_; }
  // Leaves the oldest task out.
  void drop();
  // Drops what hasn't begun, waits for what has, and lets go of the function.
  void stop();

  // Does the oldest task first. For the pool's threads.
  void run_one() override;

 private:
  struct Task {
    Element element = {};  // then the result
    int64_t number = 0;
    int64_t nanoseconds = 0;
    bool done = false;
    std::exception_ptr error = {};
  };

  bool may_begin() const;
  void ask_for_thread();
  void run_next(std::unique_lock<std::mutex>& lock);
  void wait_for_oldest(std::unique_lock<std::mutex>& lock);
  Element result_of(size_t place, std::unique_lock<std::mutex>& lock);
  std::unique_ptr<Task> pop(size_t place);
  void run(Task& task) const;

  NumberedFunction f_;
  const int64_t calls_;
  Stage* const stage_;
  const int process_;
  Taken last_;  // the caller's
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::deque<std::unique_ptr<Task>> tasks_;  // guarded by mutex_, as all below
  int64_t begun_ = 0;                        // those at the front that a thread has taken
  int64_t running_ = 0;                      // of these
  bool waits_for_any_ = false;               // the caller, else for the oldest
  bool waits_for_thread_ = false;
  bool stopped_ = false;
};

}  // namespace cornu::data
