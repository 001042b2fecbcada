// SPDX-License-Identifier: Apache-2.0
// The data threads that all pipelines of a process share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace cornu::data {

// The cores that this process may use: its affinity and its container's CPU quota count.
int64_t usable_cores();

// What has tasks for the pool.
class PoolWork {
 public:
  PoolWork() = default;
  virtual ~PoolWork() = default;
  PoolWork(const PoolWork&) = delete;
  PoolWork& operator=(const PoolWork&) = delete;
  // Does one task, if there is one to begin. Mustn't throw.
  virtual void run_one() = 0;
};

// As many threads as there are usable cores (two at least, so that one that blocks doesn't hold up
// all others), which start when there is something to do and stay. They are out of OpenMP, so that
// what they compute takes one core. Thread-safe.
//
// Nobody may count on a thread's becoming free: who waits for a task that hasn't begun does it
// himself. So pipelines may be gone through within tasks of others, to any depth.
class Pool {
 public:
  // The process's own: never destroyed, so that it may be used at any time. A forked child, which
  // has none of its parent's threads, makes another.
  static Pool& shared();

  int64_t size() const { return size_; }
  // Threads that have nothing to do now. An estimate: others may just be giving them something.
  int64_t idle() const { return size_ - busy_.load(std::memory_order_relaxed); }

  // Has some thread call work->run_one() once.
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
  std::deque<std::shared_ptr<PoolWork>> waiting_;  // guarded by mutex_, as all below
  int64_t started_ = 0;
  int64_t asleep_ = 0;
  bool can_start_ = true;
};

}  // namespace cornu::data
