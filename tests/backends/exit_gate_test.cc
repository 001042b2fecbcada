// SPDX-License-Identifier: Apache-2.0
// Processes that exit while threads run kernels.
#include "framework/backends/cpu/exit_gate.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/support/processes.h"

using namespace cornu;
using cpu::KernelUse;

namespace {

std::atomic<bool> begun = false;
std::atomic<bool> ended = false;

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

// In a forked process: calls exit, whose handlers run up to one that ends the process with the
// result of `check`.
template <class Check>
[[noreturn]] void exit_until(Check) {
  std::atexit([] { ::_exit(Check()() ? 0 : 1); });
  cpu::exit_before("what has been run after that");
  std::exit(2);
}

}  // namespace

TEST_CASE("exit waits for kernels that other threads run") {
  const int code = test::forked([]() -> bool {
    std::thread([] {
      const KernelUse use;
      begun = true;
      while (!cpu::process_exits()) std::this_thread::yield();
      ended = true;
    }).detach();
    wait_for(begun);
    exit_until([] {
      const KernelUse own;  // the thread that exits
      const KernelUse nested;
      return ended.load();
    });
  });
  CHECK(code == 0);
}

TEST_CASE("a thread may exit while it runs a kernel") {
  const int code = test::forked([]() -> bool {
    const KernelUse use;
    exit_until([] { return true; });
  });
  CHECK(code == 0);
}

TEST_CASE("a forked process doesn't wait for threads that it doesn't have") {
  std::atomic<bool> over = false;
  std::thread other([&] {
    const KernelUse use;
    begun = true;
    wait_for(over);
  });
  wait_for(begun);
  CHECK(test::forked([]() -> bool { exit_until([] { return true; }); }) == 0);
  over = true;
  other.join();
}
