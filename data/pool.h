// SPDX-License-Identifier: Apache-2.0
// The thread pool shared by all pipelines of a process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace cornu::data {

// The number of cores this process may use, subject to its affinity mask and its container's CPU
// quota.
int64_t usable_cores();

// A source of tasks for the pool.
class PoolWork {
 public:
  PoolWork() = default;
  virtual ~PoolWork() = default;
  PoolWork(const PoolWork&) = delete;
  PoolWork& operator=(const PoolWork&) = delete;
  // Runs one task, if there is one to start. Must not throw.
  virtual void run_one() = 0;
};

// Has as many threads as there are usable cores (at least two, so that one that blocks doesn't hold
// up all others). They start when there is work and are kept. OpenMP is disabled in them, so that a
// task uses one core. Thread-safe.
//
// Nobody may rely on a thread becoming available: whoever waits for a task that hasn't started runs
// it itself. Pipelines may therefore be iterated within tasks of others, to any depth.
class Pool {
 public:
  // The process-wide pool. Never destroyed, so that it may be used at any time. A forked child,
  // which has none of its parent's threads, creates another.
  static Pool& shared();

  int64_t size() const { return size_; }
  // Number of idle threads. An estimate: other threads may be adding work concurrently.
  int64_t idle() const { return size_ - busy_.load(std::memory_order_relaxed); }

  // Schedules one call of work->run_one() on some thread.
  void add(std::shared_ptr<PoolWork> work);

 private:
  Pool();
  void start_thread();
  void run();

  const int64_t size_;
  const int process_;
  std::atomic<int64_t> busy_ = 0;
  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::shared_ptr<PoolWork>> waiting_;  // guarded by mutex_, like all below
  int64_t started_ = 0;
  int64_t asleep_ = 0;
  bool can_start_ = true;
};

}  // namespace cornu::data
