// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/cpu_shares.h"

#include <doctest/doctest.h>

#include <vector>

using apps::CpuShare;
using apps::share_cpus;

namespace {

using Numbers = std::vector<int>;

}  // namespace

TEST_CASE("cores are shared out as evenly as possible, neighbours together") {
  const std::vector<CpuShare> shares = share_cpus({0, 4, 1, 5, 2}, 5, 3);
  REQUIRE(shares.size() == 3);
  CHECK(shares[0].cpus == Numbers{0});
  CHECK(shares[1].cpus == Numbers{4, 1});
  CHECK(shares[2].cpus == Numbers{5, 2});
  for (const CpuShare& share : shares) {
    CHECK(share.threads == static_cast<int>(share.cpus.size()));
    CHECK_FALSE(share.overlaps);
  }
  CHECK(share_cpus({3, 7}, 2, 1).front().cpus == Numbers{3, 7});
}

TEST_CASE("a quota limits threads, not cores") {
  const std::vector<CpuShare> shares = share_cpus({0, 1, 2, 3, 4, 5, 6, 7}, 3, 2);
  CHECK(shares[0].cpus == Numbers{0, 1, 2, 3});
  CHECK(shares[1].cpus == Numbers{4, 5, 6, 7});
  CHECK(shares[0].threads == 1);
  CHECK(shares[1].threads == 2);
  CHECK_FALSE(shares[0].overlaps);
}

TEST_CASE("more tasks than cores: all have all of them, and wait without spinning") {
  for (const CpuShare& share : share_cpus({0, 1, 2}, 3, 4)) {
    CHECK(share.cpus == Numbers{0, 1, 2});
    CHECK(share.threads == 1);
    CHECK(share.overlaps);
  }
  for (const CpuShare& share : share_cpus({0, 1, 2, 3}, 1, 2)) {
    CHECK(share.cpus == Numbers{0, 1, 2, 3});
    CHECK(share.overlaps);
  }
}
