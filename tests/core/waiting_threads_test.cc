// SPDX-License-Identifier: Apache-2.0
#include "framework/core/waiting_threads.h"

#include <doctest/doctest.h>

#include <atomic>

#include "framework/core/threads.h"

using namespace cornu;

TEST_CASE("waiting for a good part of the time is contention, short waits aren't") {
  ContentionEstimate estimate;
  CHECK_FALSE(estimate.update(0.05, 0));
  CHECK_FALSE(estimate.update(0.05, 0.004));
  CHECK_FALSE(estimate.update(10.0, 1.0));  // a longer wait, but over a longer time
  CHECK(estimate.update(0.1, 0.04));
}

TEST_CASE("waiting for a moment, as new threads do, is no contention") {
  ContentionEstimate estimate;
  CHECK_FALSE(estimate.update(0.05, 0.05));
  CHECK_FALSE(estimate.update(0.05, 0));
  CHECK_FALSE(estimate.update(0.05, 0.05));  // the count restarts here
  CHECK(estimate.update(0.05, 0.05));
}

TEST_CASE("contention ends after half a second of calm") {
  ContentionEstimate estimate;
  REQUIRE(estimate.update(0.1, 0.1));
  CHECK(estimate.update(0.4, 0.01));
  CHECK(estimate.update(0.1, 0.05));  // not calm: the count restarts here
  CHECK(estimate.update(0.4, 0));
  CHECK_FALSE(estimate.update(0.2, 0));
  CHECK_FALSE(estimate.update(0.2, 0.002));
  CHECK_FALSE(estimate.update(0.05, 0.05));  // just a moment again
  CHECK(estimate.update(0.2, 0.1));
}

TEST_CASE("a sum that begins anew, as a child's does, is no contention") {
  ContentionEstimate estimate;
  CHECK_FALSE(estimate.update(0.01, -5));
}

TEST_CASE("loops run beside a team that sleeps, in turns short and long") {
  const ComputeThreadsScope two(2);
  std::atomic<int64_t> sum = 0;
  auto loop = [&] {
    parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  };
  for (int round = 0; round < 3; ++round) {
    const SleepingTeam team(2 + round);
    loop();
    take_short_turns(true);
    loop();
    take_short_turns(false);
    loop();
  }
  loop();
  CHECK(sum == 10 * 1000);
}

TEST_CASE("loops go on when threads stop sleeping before a fork, asked or not") {
  std::atomic<int64_t> sum = 0;
  for (int round = 0; round < 100; ++round) {
    adapt_waiting_threads();
    parallel_for(10, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    if (round % 10 == 0) end_sleeping_threads();
  }
  CHECK(sum == 1000);
}
