// SPDX-License-Identifier: Apache-2.0
// Philox compared with the published test vectors, and the origin of seeds.
#include "framework/core/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <vector>

using namespace cornu;

namespace {

using Words = std::array<uint32_t, 4>;

}  // namespace

TEST_CASE("the known answers of Random123 for philox4x32-10") {
  CHECK(philox(0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const uint64_t ones = ~uint64_t{0};
  CHECK(philox(ones, ones, ones) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0'a4093822, 0x85a308d3'243f6a88, 0x03707344'13198a2e) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("an engine gives the words of its stream in order") {
  PhiloxEngine engine(7, 3);
  for (uint64_t block = 0; block < 5; ++block) {
    for (const uint32_t word : philox(7, block, 3)) CHECK(engine() == word);
  }
}

TEST_CASE("an engine goes on from any of its words") {
  PhiloxEngine engine(7, 3);
  for (uint64_t words = 0; words < 70; ++words) {
    CHECK(engine.words() == words);
    PhiloxEngine other(7, 3);
    other.go_to(words);
    CHECK(other.words() == words);
    const uint32_t word = engine();
    CHECK(other() == word);
  }
}

TEST_CASE("unit numbers stay below 1") {
  CHECK(to_unit_float(0) == 0);
  CHECK(to_unit_float(UINT32_MAX) == 1 - 0x1p-24f);
  CHECK(to_unit_double(0, 0) == 0);
  CHECK(to_unit_double(UINT32_MAX, UINT32_MAX) == 1 - 0x1p-53);
}

TEST_CASE("below: every number, none of them too often") {
  PhiloxEngine engine(11);
  CHECK(engine.below(1) == 0);
  std::vector<int> counts(7);
  for (int i = 0; i < 7000; ++i) ++counts[engine.below(7)];
  for (const int count : counts) CHECK(std::abs(count - 1000) < 150);  // five standard deviations
  // A bound that makes a quarter of all words unusable.
  const uint64_t bound = uint64_t{3} << 62;
  uint64_t most = 0;
  for (int i = 0; i < 200; ++i) most = std::max(most, engine.below(bound));
  CHECK(most < bound);
  CHECK(most > bound / 10 * 9);
}

TEST_CASE("an engine serves the standard library") {
  std::vector<int> order(100);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), PhiloxEngine(1));
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<size_t>(i)] == i);
}

TEST_CASE("seeds: the same after set_random_seed, goes on after a restore") {
  set_random_seed(5);
  const std::vector<uint64_t> first = {next_seed(), next_seed(), next_seed()};
  CHECK(first[0] != first[1]);
  set_random_seed(5);
  CHECK(next_seed() == first[0]);
  const SeedSequence saved = seed_sequence();
  CHECK(next_seed() == first[1]);
  restore_seed_sequence(saved);
  CHECK(next_seed() == first[1]);
  CHECK(next_seed() == first[2]);
  CHECK(seed_or_next(42) == 42);
  for (const uint64_t seed : first) CHECK(seed < uint64_t{1} << 31);

  set_random_seed(5);
  uint64_t elsewhere = first[0];
  std::thread([&] { elsewhere = next_seed(); }).join();  // a separate sequence
  CHECK(next_seed() == first[0]);
  CHECK(elsewhere != first[0]);
}
