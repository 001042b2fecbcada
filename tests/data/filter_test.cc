// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/ops/ops.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using Numbers = std::vector<int64_t>;

namespace {

Tensor is_even(const Tensor& x) { return ops::equal(ops::mod(x, 2), 0); }

}  // namespace

TEST_CASE("filter keeps what its predicate holds of, in order") {
  CHECK(numbers(rows_to(7).filter(&is_even)) == Numbers{0, 2, 4, 6});
  CHECK(numbers(Dataset::range(7).filter(&is_even).batch(3)) == Numbers{0, 2, 4, 6});
  CHECK(numbers(rows_to(7).filter(&is_even).take(2)) == Numbers{0, 2});
  CHECK(numbers(rows_to(4).repeat(2).filter(&is_even)) == Numbers{0, 2, 0, 2});
  CHECK(numbers(rows_to(5).filter([](const Tensor& x) { return x < 0; })) == Numbers{});
  const auto kept = rows_to(7).filter(&is_even);
  CHECK(!kept.cardinality());
  CHECK(kept.element_spec() == rows_to(7).element_spec());
  CHECK(rows_to(7).repeat().filter(&is_even).cardinality() == kInfiniteCardinality);
}

TEST_CASE("filter over pairs, and over batches whose size varies") {
  const auto pairs = Dataset::zip({Dataset::range(6), Dataset::range(10, 16)});
  const auto kept =
      pairs.filter([](const Tensor& x, const Tensor& y) { return ops::greater(x + y, 16); });
  CHECK(kept.element_spec() == pairs.element_spec());
  CHECK(numbers(kept) == Numbers{4, 14, 5, 15});
  const auto full =
      rows_to(7).batch(3).filter([](const Tensor& x) { return ops::all(ops::less(x, 6)); });
  CHECK(numbers(full) == Numbers{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a predicate that gives no bool scalar") {
  CHECK(message_of<InvalidArgument>([] { rows_to(3).filter([](const Tensor& x) { return x; }); })
            .find("the predicate gives int64 (), expected a bool scalar. Reduce it, for example "
                  "with ops::all.") != std::string::npos);
}
