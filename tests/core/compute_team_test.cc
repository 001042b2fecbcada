// SPDX-License-Identifier: Apache-2.0
#include "framework/core/compute_team.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

#include "framework/core/threads.h"
#include "framework/core/waiting_threads.h"

using namespace cornu;

namespace {

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// Waits until the process has this many threads: one that has ended is listed a moment longer.
bool threads_become(std::ptrdiff_t count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (threads_of_process() != count) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

int64_t loop() {
  std::atomic<int64_t> sum = 0;
  parallel_for(2, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  return sum;
}

// Runs `body` on a thread without a compute team, after those of other tests are gone.
template <class F>
void on_thread(F body) {
  const std::ptrdiff_t before = threads_of_process();
  std::thread([&] {
    const ComputeThreadsScope two(2);
    body();
  }).join();
  CHECK(threads_become(before));
}

}  // namespace

TEST_CASE("a team that is released ends, and the next loop has one again") {
  on_thread([] {
    const std::ptrdiff_t before = threads_of_process();
    CHECK_FALSE(has_compute_team());
    CHECK(loop() == 2);
    CHECK(has_compute_team());
    CHECK(threads_become(before + 1));
    release_compute_team();
    CHECK_FALSE(has_compute_team());
    CHECK(threads_become(before));
    release_compute_team();  // a no-op
    CHECK(loop() == 2);
    CHECK(threads_become(before + 1));
  });
}

TEST_CASE("a loop of one part makes no team") {
  on_thread([] {
    parallel_for(1, 1, [](int64_t, int64_t) {});
    CHECK_FALSE(has_compute_team());
  });
}

TEST_CASE("a team isn't released within a loop") {
  on_thread([] {
    std::atomic<int64_t> sum = 0;
    parallel_for(2, 1, [&](int64_t begin, int64_t end) {
      release_compute_team();
      sum += end - begin;
    });
    CHECK(sum == 2);
    CHECK(has_compute_team());
  });
}

TEST_CASE("the team's threads get no signals, whatever made the team") {
  on_thread([] {
    for (const bool by_turns : {false, true}) {
      if (by_turns) take_short_turns(true);
      std::atomic<int> open = 0;
      const std::thread::id caller = std::this_thread::get_id();
      parallel_parts(2, [&](int) {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        if (std::this_thread::get_id() != caller && !sigismember(&mask, SIGINT)) ++open;
      });
      CHECK(open == 0);
      release_compute_team();
    }
  });
}
