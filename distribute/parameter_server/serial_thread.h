// SPDX-License-Identifier: Apache-2.0
// A single thread that computes on behalf of others.
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace cornu::distribute {

// Runs functions one after another, in order of arrival, on one thread: whatever thread calls
// run(), the compute threads are those of this one.
class SerialThread {
 public:
  SerialThread() : thread_([this] { work(); }) {}
  ~SerialThread() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  SerialThread(const SerialThread&) = delete;
  SerialThread& operator=(const SerialThread&) = delete;

  // Blocks until `f` has run; throws what it throws.
  template <class F>
  void run(const F& f) {
    std::packaged_task<void()> task(f);
    std::future<void> done = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
    done.get();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stops_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::packaged_task<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace cornu::distribute
