// SPDX-License-Identifier: Apache-2.0
// Chains of thousands of links: they take linear time, and fit on one thread's stack.
#include <doctest/doctest.h>

#include <functional>

#include "data/dataset.h"
#include "data/serialization.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"
#include "tests/support/errors.h"
#include "tests/support/sanitized.h"

namespace cornu {
namespace {

using data::Dataset;
using test::message_of;
using testing::numbers;

// Sanitized code has more and larger stack frames, and the thread sanitizer tracks at most 65,536
// of them.
constexpr int kDeep = testing::kSanitized ? 1100 : 10000;
constexpr int kLessDeep = testing::kSanitized ? 1100 : 5000;

// What every chain must survive: a pass, saving and restoring a position, serialization, and
// destruction.
void walk(Dataset dataset, int64_t elements) {
  int64_t count = 0;
  auto iterator = dataset.iterator();
  data::Element element;
  while (iterator.next(element)) ++count;
  CHECK(count == elements);
  auto half = dataset.iterator();
  half.next(element);
  auto restored = dataset.iterator();
  restored.restore(half.save());
  data::Element other;
  CHECK(half.next(element) == restored.next(other));
  CHECK(message_of<FailedPrecondition>([&] { data::serialize(dataset); }) ==
        "a serialized dataset has at most 1024 links behind one another, got more.");
}

}  // namespace

// When each link looked at all links below it, this took minutes.
TEST_CASE("thousands of datasets are joined in no time, shuffled ones, too") {
  const Dataset piece = Dataset::range(1);
  const Dataset shuffled = piece.shuffle(2, {.seed = 3});
  const std::vector<std::function<Dataset(const Dataset&)>> joins = {
      [&](const Dataset& chain) { return chain.concatenate(piece); },
      [&](const Dataset& chain) { return piece.concatenate(chain); },
      [&](const Dataset& chain) { return chain.concatenate(shuffled); },
      [&](const Dataset& chain) {
        return chain.concatenate(Dataset::range(1).shuffle(2, {.seed = 3}));
      }};
  for (size_t i = 0; i < joins.size(); ++i) {
    CAPTURE(i);
    Dataset chain = piece;
    for (int k = 0; k < kDeep; ++k) chain = joins[i](chain);
    CHECK(chain.cardinality() == kDeep + 1);
  }
  const Dataset none = Dataset::range(0);
  Dataset left = Dataset::range(3), right = left;
  for (int k = 0; k < kLessDeep; ++k) {
    left = left.concatenate(none);
    right = none.concatenate(right);
  }
  walk(left, 3);
  walk(right, 3);
}

TEST_CASE("deep chains of other transforms") {
  const std::vector<std::function<Dataset(const Dataset&)>> links = {
      [](const Dataset& chain) { return chain.take(100); },
      [](const Dataset& chain) { return chain.skip(0); },
      [](const Dataset& chain) { return chain.repeat(1); },
      [](const Dataset& chain) { return chain.shard(1, 0); },
      [](const Dataset& chain) { return Dataset::zip({chain}); }};
  for (size_t i = 0; i < links.size(); ++i) {
    CAPTURE(i);
    Dataset chain = Dataset::range(3);
    for (int k = 0; k < kLessDeep; ++k) chain = links[i](chain);
    walk(chain, 3);
  }
}

TEST_CASE("a chain that is too deep for a thread's stack is refused when it is made") {
  Dataset chain = Dataset::range(3);
  CHECK(message_of<ResourceExhausted>([&] {
          for (int k = 0; k < 20000; ++k) chain = chain.take(5);
        }) ==
        "a dataset has at most 12288 links behind one another, got more. Join many datasets by "
        "flat_map or choose_from_datasets.");
  if (testing::kSanitized) return;
  walk(chain, 3);
  Dataset filtered = Dataset::range(3);  // each link is a map and a filter
  CHECK_THROWS_AS(
      [&] {
        for (int k = 0; k < kDeep; ++k) {
          filtered = filtered.filter([](const Tensor& x) { return x > 0; });
        }
      }(),
      ResourceExhausted);
  walk(filtered, 2);
}

// Some links below are shared, some aren't: as many as are listed one by one, and more.
TEST_CASE("what is used a second time is shuffled anew, in long chains, too") {
  for (const int others : {0, 3, 20}) {
    CAPTURE(others);
    const Dataset shuffled = Dataset::range(50).shuffle(50, {.seed = 1});
    Dataset first = shuffled;
    for (int i = 0; i < others; ++i) {
      first = first.concatenate(Dataset::range(50).shuffle(50, {.seed = 2}));
    }
    const std::vector<int64_t> once = numbers(shuffled);
    const std::vector<int64_t> all = numbers(first.concatenate(shuffled));
    REQUIRE(all.size() == static_cast<size_t>(50 * (others + 2)));
    CHECK(std::vector<int64_t>(all.begin(), all.begin() + 50) == once);
    const std::vector<int64_t> last(all.end() - 50, all.end());
    CHECK(last != once);
    const std::vector<int64_t> twice = numbers(shuffled.concatenate(shuffled));
    CHECK(last == std::vector<int64_t>(twice.end() - 50, twice.end()));
  }
}

}  // namespace cornu
