// SPDX-License-Identifier: Apache-2.0
// Elements copied to a device whose memory the host can't read.
#include <doctest/doctest.h>

#include "data/to_device.h"
#include "framework/ops/math.h"
#include "tests/data/support.h"
#include "tests/support/device/guarded_device.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;

namespace {

// The elements of a pass, read from the device.
std::vector<std::vector<int64_t>> values(data::Iterator iterator) {
  std::vector<std::vector<int64_t>> result;
  for (Element element; iterator.next(element);) {
    CHECK(element.tensor(0).device() == Device::parse("GPU:1"));
    result.push_back(element.tensor(0).host().to_vector<int64_t>());
  }
  return result;
}

}  // namespace

TEST_CASE("copy_to_device and prefetch_to_device bring elements to a device") {
  test::register_guarded_devices();
  using Rows = std::vector<std::vector<int64_t>>;
  for (const auto& to : {data::copy_to_device("GPU:1"), data::prefetch_to_device("/gpu:1"),
                         data::prefetch_to_device("GPU:1", 2)}) {
    const Dataset batches = Dataset::range(5).batch(2).apply(to);
    CHECK(values(batches.iterator()) == Rows{{0, 1}, {2, 3}, {4}});
    CHECK(batches.cardinality() == 3);
    CHECK(batches.element_spec().to_string() == "int64 (None,)");
    data::Iterator first = batches.iterator();
    Element element;
    REQUIRE(first.next(element));
    data::Iterator second = batches.iterator();
    second.restore(first.save());
    CHECK(values(std::move(second)) == Rows{{2, 3}, {4}});
  }
  const auto rows = rows_to(3).shuffle(3, {.seed = 1}).apply(data::copy_to_device("GPU:1"));
  CHECK(values(rows.iterator()).size() == 3);
}

TEST_CASE("what can't be copied is told") {
  test::register_guarded_devices();
  const auto words = Dataset::from_tensor_slices(Tensor::from(std::vector<std::string>{"a", "b"}));
  CHECK_THROWS_WITH_AS(words.apply(data::copy_to_device("GPU:1")),
                       "copy_to_device: strings are the host's, and the elements are string (). "
                       "Turn them into numbers first, or copy before they come in.",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(Dataset::range(2).apply(data::copy_to_device("GPU:99")),
                       doctest::Contains("GPU:99"), InvalidArgument);
  CHECK_THROWS_AS(data::copy_to_device("the second"), InvalidArgument);
}

TEST_CASE("transforms after a copy bring elements back") {
  test::register_guarded_devices();
  const auto batches = Dataset::range(4).apply(data::copy_to_device("GPU:1")).batch(2);
  for (const Element& batch : batches) CHECK(batch.tensor(0).device() == Device());
  CHECK(numbers(batches) == std::vector<int64_t>{0, 1, 2, 3});
  const auto mapped =
      Dataset::range(4).apply(data::copy_to_device("GPU:1")).map([](const Tensor& x) {
        return x + 1;
      });
  CHECK(numbers(mapped) == std::vector<int64_t>{1, 2, 3, 4});
}

TEST_CASE("all CPUs are the host") {
  for (const Element& element : Dataset::range(3).apply(data::copy_to_device("CPU:1"))) {
    CHECK(element.tensor(0).device() == Device());
  }
}
