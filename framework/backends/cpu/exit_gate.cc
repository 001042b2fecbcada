// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/exit_gate.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "framework/core/error.h"

namespace cornu::cpu {
namespace {

constexpr std::chrono::seconds kSleep(3);

thread_local int own_uses = 0;  // they nest

struct Gate {
  std::atomic<int> uses = 0;  // outermost ones, of all threads
  std::atomic<bool> closed = false;
  // Set before the gate is closed.
  std::atomic<pthread_t> exiting = {};
  std::atomic<std::chrono::steady_clock::time_point> over = {};
  std::mutex mutex;
  std::set<std::string, std::less<>> known;  // implementations that have been run

  // Never destroyed.
  static Gate& get() {
    static auto* const gate = [] {
      auto* made = new Gate;
      pthread_atfork(nullptr, nullptr, [] { get().uses = own_uses > 0 ? 1 : 0; });
      return made;
    }();
    return *gate;
  }

  bool is_closed_for_this_thread() const {
    return closed && pthread_equal(exiting, pthread_self()) == 0;
  }

  void close() {
    if (closed) return;
    exiting = pthread_self();
    over = std::chrono::steady_clock::now() + kSleep;
    closed = true;
    const int own = own_uses > 0 ? 1 : 0;
    for (int left = uses; left > own; left = uses) uses.wait(left);
  }

  void begin() {
    ++uses;
    if (!is_closed_for_this_thread()) return;
    end();
    std::this_thread::sleep_until(over.load());
    raise<FailedPrecondition>(
        "oneDNN: threads can't run kernels while the process exits. End threads that compute "
        "before "
        "main returns, rather than in a destructor of a static object.");
  }
  void end() {
    --uses;
    if (closed) uses.notify_all();
  }
};

}  // namespace

// A thread's own count is never behind the gate's: a signal handler may call exit at any point.
KernelUse::KernelUse() {
  if (own_uses++ > 0) return;
  try {
    Gate::get().begin();
  } catch (...) {
    --own_uses;
    throw;
  }
}

KernelUse::~KernelUse() {
  if (own_uses == 1) Gate::get().end();
  --own_uses;
}

void exit_before(std::string_view implementation) {
  Gate& gate = Gate::get();
  const std::lock_guard lock(gate.mutex);
  if (gate.known.contains(implementation)) return;
  gate.known.emplace(implementation);
  std::atexit([] { Gate::get().close(); });
}

bool process_exits() { return Gate::get().closed; }

}  // namespace cornu::cpu
