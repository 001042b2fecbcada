// SPDX-License-Identifier: Apache-2.0
// What happens when memory runs out, whichever allocation fails.
#include <doctest/doctest.h>

#include <new>
#include <optional>

#include "framework/core/buffer.h"
#include "framework/core/json.h"
#include "tests/support/limited_memory.h"

using namespace cornu;
using test::LimitedMemory;

TEST_CASE("a JSON value is copied as a whole, or memory has run out") {
  const std::string text(100, 'x');
  const Json value = Json::object(
      {{"list", Json::array({text, Json::array({text, 1}), Json::object({{"key", text}})})},
       {text, nullptr}});
  std::optional<Json> copy;
  int refused = 0;
  for (int pieces = 0; !copy; ++pieces) {
    CAPTURE(pieces);
    try {
      const LimitedMemory limit(pieces);
      copy.emplace(value);
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  }
  CHECK(*copy == value);
  CHECK(refused > 4);
}

TEST_CASE("host memory is given back where there is no memory") {
  release_cached_host_memory();
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (size_t bytes = 1; bytes < (1 << 20); bytes += bytes / 3 + 1) {
    buffers.push_back(allocate_host(bytes));
  }
  const std::byte* const last = buffers.back()->data();
  const size_t bytes = buffers.back()->bytes();
  {
    const LimitedMemory limit(0);
    buffers.clear();
  }
  CHECK(allocate_host(bytes)->data() == last);  // it was kept
  {
    const LimitedMemory limit(0);
    CHECK_THROWS_AS(allocate_host(bytes), std::bad_alloc);
  }
  CHECK(allocate_host(bytes)->data() == last);  // wasn't lost
  release_cached_host_memory();
}
