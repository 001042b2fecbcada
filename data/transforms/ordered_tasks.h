// SPDX-License-Identifier: Apache-2.0
// Runs a function of elements as tasks on the pool; results are taken in order or as they finish.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>

#include "data/pool.h"
#include "data/transforms/parallel_map.h"

namespace cornu::data {

// One thread adds tasks and takes their results; the pool's threads run them in the order in which
// they were added, at most `calls` at a time.
class OrderedTasks : public PoolWork, public std::enable_shared_from_this<OrderedTasks> {
 public:
  // `stage`: null if nothing is measured.
  OrderedTasks(NumberedFunction f, int64_t calls, Stage* stage);

  // Whether it was created in this process, as opposed to a parent that forked it.
  bool is_ours() const;

  // The number of tasks whose results weren't taken. Only the caller's own calls change it.
  int64_t size() const { return std::ssize(tasks_); }
  // How many of them are done.
  int64_t done() const;

  void add(Element element, int64_t number);
  // Returns the oldest task's result, or throws its exception. A task that hasn't started is run by
  // the caller.
  Element take();
  // Like take(), for the oldest task that is done, or else the first to finish; `number` is set to
  // the element's.
  Element take_any(int64_t& number);
  // Calls the function for an element on the calling thread, without a task. Propagates exceptions.
  Element run_here(Element element, int64_t number);
  // About the last result that was taken, or computed by run_here().
  struct Taken {
    int64_t nanoseconds = 0;  // taken by the function
    bool waited = false;      // the result wasn't ready yet
  };
  const Taken& last() const { return last_; }
  // Discards the oldest task.
  void drop();
  // Discards tasks that haven't started, waits for those that have, and releases the function.
  void stop();

  // Runs the oldest task that hasn't started. Called by the pool's threads.
  void run_one() override;

 private:
  struct Task {
    Element element = {};  // later the result
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
  Taken last_;  // used by the caller
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::deque<std::unique_ptr<Task>> tasks_;  // guarded by mutex_, like all below
  int64_t begun_ = 0;                        // tasks at the front that a thread has taken
  int64_t running_ = 0;                      // those of them that are running
  bool waits_for_any_ = false;               // the caller waits for any task; otherwise for the
                                             // oldest
  bool waits_for_thread_ = false;
  bool stopped_ = false;
};

}  // namespace cornu::data
