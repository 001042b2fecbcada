// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/replica_threads.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "framework/core/waiting_threads.h"

namespace cornu::cpu {
namespace {

class Worker {
 public:
  Worker() : thread_([this] { work(); }) {}
  ~Worker() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void start(const FunctionRef<void(int)>& body, int replica, int threads) {
    std::lock_guard lock(mutex_);
    body_ = &body;
    replica_ = replica;
    threads_ = threads;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return body_ == nullptr; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return body_ || stop_; });
      if (stop_) return;
      lock.unlock();
      {
        ComputeThreadsScope share(threads_);
        adapt_waiting_threads();
        (*body_)(replica_);
      }
      lock.lock();
      body_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const FunctionRef<void(int)>* body_ = nullptr;
  int replica_ = 0;
  int threads_ = 1;
  bool stop_ = false;
  std::thread thread_;
};

struct Pool {
  const pid_t process = getpid();
  std::mutex turn;
  std::vector<std::unique_ptr<Worker>> workers;
};

// Never destroyed: a forked process makes its own, as the threads are its parent's.
Pool& pool() {
  static std::atomic<Pool*> current = new Pool;
  Pool* known = current.load();
  if (known->process == getpid()) return *known;
  auto made = std::make_unique<Pool>();
  return *(current.compare_exchange_strong(known, made.get()) ? made.release() : known);
}

}  // namespace

void run_replicas(int count, FunctionRef<void(int)> body) {
  use_compute_threads();
  adapt_waiting_threads();
  if (count == 1) {
    body(0);
    return;
  }
  Pool& threads = pool();
  std::lock_guard turn(threads.turn);
  auto& workers = threads.workers;
  while (static_cast<int>(workers.size()) < count) workers.push_back(std::make_unique<Worker>());
  const int share = std::max(1, compute_threads() / count);
  for (int i = 0; i < count; ++i) workers[static_cast<size_t>(i)]->start(body, i, share);
  for (int i = 0; i < count; ++i) workers[static_cast<size_t>(i)]->wait();
}

}  // namespace cornu::cpu
