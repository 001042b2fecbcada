// SPDX-License-Identifier: Apache-2.0
#include "cornu/core/waiting_threads.h"

#include <doctest/doctest.h>

using cornu::ContentionEstimate;

TEST_CASE("some forced switches in a short time are contention, a single one now and then isn't") {
  ContentionEstimate estimate;
  CHECK_FALSE(estimate.update(0.01, 0));
  CHECK_FALSE(estimate.update(0.01, 1));
  CHECK_FALSE(estimate.update(0.01, 2));
  CHECK_FALSE(estimate.update(10.0, 100));  // 10 a second: the system's own business
  CHECK(estimate.update(0.01, 3));
}

TEST_CASE("contention ends after half a second of calm") {
  ContentionEstimate estimate;
  REQUIRE(estimate.update(0.1, 50));
  CHECK(estimate.update(0.4, 1));
  CHECK(estimate.update(0.1, 9));  // not calm: counted from here anew
  CHECK(estimate.update(0.4, 0));
  CHECK_FALSE(estimate.update(0.2, 0));
  CHECK_FALSE(estimate.update(0.2, 1));
  CHECK(estimate.update(0.2, 20));
}

TEST_CASE("a child's count, which begins anew, is no contention") {
  ContentionEstimate estimate;
  CHECK_FALSE(estimate.update(0.01, -500));
}
