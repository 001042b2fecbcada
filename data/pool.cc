// SPDX-License-Identifier: Apache-2.0
#include "data/pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>

#include "framework/core/cpu_quota.h"
#include "framework/core/threads.h"

namespace cornu::data {

int64_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int64_t cores = sched_getaffinity(0, sizeof(set), &set) == 0
                            ? CPU_COUNT(&set)
                            : static_cast<int64_t>(std::thread::hardware_concurrency());
  static const int64_t quota = cpu_quota().value_or(INT32_MAX);
  return std::clamp<int64_t>(quota, 1, std::max<int64_t>(cores, 1));
}

Pool::Pool() : size_(std::max<int64_t>(2, usable_cores())), process_(getpid()) {}

Pool& Pool::shared() {
  static std::atomic<Pool*> current = new Pool;
  Pool* known = current.load();
  if (known->process_ == getpid()) return *known;
  auto made = std::unique_ptr<Pool>(new Pool);
  return *(current.compare_exchange_strong(known, made.get()) ? made.release() : known);
}

void Pool::add(std::shared_ptr<PoolWork> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    if (std::ssize(waiting_) > asleep_ && started_ < size_ && can_start_) start_thread();
  }
  added_.notify_one();
}

void Pool::start_thread() {
  try {
    std::thread([this] { run(); }).detach();
    ++started_;
  } catch (const std::system_error&) {  // fewer threads, or none, work as well
    can_start_ = false;
  } catch (const std::bad_alloc&) {  // there may be memory for one later
  }
}

void Pool::run() {
  // OpenMP is disabled on data threads: starting a team for one costs milliseconds.
  const ComputeThreadsScope one(1);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++asleep_;
    added_.wait(lock, [this] { return !waiting_.empty(); });
    --asleep_;
    auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    busy_.fetch_add(1, std::memory_order_relaxed);
    work->run_one();
    work.reset();
    busy_.fetch_sub(1, std::memory_order_relaxed);
    lock.lock();
  }
}

}  // namespace cornu::data
