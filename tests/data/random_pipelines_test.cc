// SPDX-License-Identifier: Apache-2.0
// Randomly generated pipelines compared with plain loops over vectors: at any parallelism, restored
// at any position, and sent to another process.
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "data/serialization.h"
#include "framework/core/hex.h"
#include "framework/core/logging.h"
#include "tests/data/random_pipelines.h"
#include "tests/data/support.h"
#include "tests/support/processes.h"
#include "tests/support/sanitized.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;

namespace {

constexpr auto kPipelines = static_cast<uint64_t>(cases(2000, 250));

void check_pipeline(uint64_t seed) {
  const Pipeline p = made_up(seed);
  INFO("seed ", seed, ": ", p.text);
  Dice dice(seed + 1'000'000);
  for (const int64_t calls : {1, 2, 8}) {
    CAPTURE(calls);
    const Dataset dataset = p.build(calls);
    const auto cardinality = dataset.cardinality();
    CHECK((!cardinality || *cardinality == count_of(p.items)));
    auto iterator = dataset.iterator();
    const int64_t stop = dice.between(0, count_of(p.items));
    Items before = items_of(iterator, stop);
    const std::string saved = iterator.save().dump();
    const Items rest = items_of(iterator);
    before.insert(before.end(), rest.begin(), rest.end());
    CHECK((before == p.items));

    CAPTURE(stop);
    CAPTURE(saved);
    const Dataset again = p.build(calls == 8 ? 1 : 8);
    auto restored = again.iterator();
    restored.restore(Json::parse(saved));
    CHECK((items_of(restored) == Items(p.items.begin() + stop, p.items.end())));
    auto second_pass = again.iterator();
    CHECK((items_of(second_pass) == p.items));
  }
}

}  // namespace

TEST_CASE("pipelines made up at random give what plain loops give") {
  logging::set_level(logging::Level::Off);
  for (uint64_t seed = 0; seed < kPipelines; ++seed) {
    try {
      check_pipeline(seed);
    } catch (const std::exception& error) {
      FAIL_CHECK("seed ", seed, " (", made_up(seed).text, "): ", error.what());
    }
  }
  logging::set_level(logging::Level::Info);
}

namespace {

constexpr const char* kSentFile = "CORNU_TEST_SENT_PIPELINES";

// A pipeline and a position in it.
struct Sent {
  uint64_t seed;
  int64_t stop;
  std::string bytes;     // in hexadecimal digits
  std::string position;  // JSON
};

void check_sent(const Sent& sent) {
  const Pipeline p = made_up(sent.seed);
  INFO("seed ", sent.seed, ": ", p.text);
  std::string bytes(sent.bytes.size() / 2, '\0');
  REQUIRE(from_hex(sent.bytes, std::as_writable_bytes(std::span(bytes))));
  const Dataset dataset = data::deserialize(data::SerializedDataset::from_bytes(bytes));
  auto iterator = dataset.iterator();
  CHECK((items_of(iterator) == p.items));
  auto restored = dataset.iterator();
  restored.restore(Json::parse(sent.position));
  CHECK((items_of(restored) == Items(p.items.begin() + sent.stop, p.items.end())));
}

}  // namespace

TEST_CASE("receives pipelines" * doctest::skip()) {
  const char* path = std::getenv(kSentFile);
  if (!path) return;
  logging::set_level(logging::Level::Off);
  std::ifstream file(path);
  Sent sent;
  while (file >> sent.seed >> sent.stop >> sent.bytes && std::getline(file, sent.position)) {
    check_sent(sent);
  }
}

TEST_CASE("another process makes the same of what it is sent") {
  logging::set_level(logging::Level::Off);
  const TempFolder folder;
  std::ofstream file(folder / "sent");
  int64_t count = 0;
  int64_t local = 0;
  for (uint64_t seed = 0; seed < kPipelines; ++seed) {
    const Pipeline p = made_up(seed);
    INFO("seed ", seed, ": ", p.text);
    const Dataset dataset = p.build(seed % 2 == 0 ? 1 : 8);
    std::string bytes;
    try {
      bytes = data::serialize(dataset).to_bytes();
    } catch (const FailedPrecondition& error) {
      ++local;
      const std::string why = error.what();
      CHECK((contains(why, "C++ code") || contains(why, "runs on the host, op by op")));
      continue;
    }
    const int64_t stop = Dice(seed + 2'000'000).between(0, count_of(p.items));
    auto iterator = dataset.iterator();
    items_of(iterator, stop);
    file << seed << ' ' << stop << ' ' << to_hex(std::as_bytes(std::span(bytes))) << ' '
         << iterator.save().dump() << '\n';
    ++count;
  }
  file.close();
  MESSAGE(count, " pipelines travel, ", local, " have generators or functions that give datasets");
  CHECK(count > static_cast<int64_t>(kPipelines) * 3 / 10);
  const std::string path = folder / "sent";
  CHECK(test::spawned("receives pipelines", {std::string(kSentFile) + "=" + path}) == 0);
  logging::set_level(logging::Level::Info);
}
