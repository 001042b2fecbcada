// SPDX-License-Identifier: Apache-2.0
#include "framework/core/replica_threads.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "framework/core/waiting_threads.h"

namespace cornu {
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

  // `count`: number of replicas that run concurrently.
  void start(const FunctionRef<void(int)>& body, int replica, int count, int threads) {
    std::lock_guard lock(mutex_);
    replica_ = replica;
    count_ = count;
    threads_ = threads;
    body_ = &body;
    changed_.notify_all();
  }
  void wait() {
    if (spin_until(count_, [&] { return body_ == nullptr; })) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return body_ == nullptr; });
  }

 private:
  void work() {
    for (;;) {
      spin_until(count_, [&] { return body_ != nullptr; });
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return body_ || stop_; });
        if (stop_) return;
      }
      {
        ComputeThreadsScope share(threads_);
        adapt_waiting_threads();
        (*body_)(replica_);
      }
      const std::lock_guard lock(mutex_);
      body_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<const FunctionRef<void(int)>*> body_ = nullptr;
  int replica_ = 0;
  std::atomic<int> count_ = 0;
  int threads_ = 1;
  bool stop_ = false;
  std::thread thread_;
};

struct Pool {
  const pid_t process = getpid();
  std::mutex mutex;  // held during a run
  std::vector<std::unique_ptr<Worker>> workers;
};

// Never destroyed. A forked process creates its own pool, since threads aren't inherited.
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
  std::lock_guard lock(threads.mutex);
  auto& workers = threads.workers;
  while (static_cast<int>(workers.size()) < count - 1) {
    workers.push_back(std::make_unique<Worker>());
  }
  const int share = std::max(1, compute_threads() / count);
  for (int i = 1; i < count; ++i) workers[static_cast<size_t>(i) - 1]->start(body, i, count, share);
  {
    const ComputeThreadsScope own(share);
    body(0);
  }
  for (int i = 1; i < count; ++i) workers[static_cast<size_t>(i) - 1]->wait();
}

}  // namespace cornu
