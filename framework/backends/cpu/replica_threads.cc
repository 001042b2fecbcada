// SPDX-License-Identifier: Apache-2.0
#include "cornu/backends/cpu/replica_threads.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

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
  std::mutex turn;
  std::vector<std::unique_ptr<Worker>> workers;
};

Pool& pool() {
  static Pool pool;
  return pool;
}

}  // namespace

void run_replicas(int count, FunctionRef<void(int)> body) {
  if (count == 1) {
    body(0);
    return;
  }
  std::lock_guard turn(pool().turn);
  auto& workers = pool().workers;
  while (static_cast<int>(workers.size()) < count) workers.push_back(std::make_unique<Worker>());
  const int share = std::max(1, compute_threads() / count);
  for (int i = 0; i < count; ++i) workers[static_cast<size_t>(i)]->start(body, i, share);
  for (int i = 0; i < count; ++i) workers[static_cast<size_t>(i)]->wait();
}

}  // namespace cornu::cpu
