// SPDX-License-Identifier: Apache-2.0
#include "framework/core/buffer.h"

#include <doctest/doctest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "framework/core/allocation_limit.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

TEST_CASE("host memory of any size is aligned, and its bytes can be written") {
  for (const size_t bytes : {0, 1, 63, 64, 65, 1000, 4096, 100001, 20 << 20}) {
    CAPTURE(bytes);
    const auto buffer = allocate_host(bytes);
    CHECK(buffer->bytes() == bytes);
    CHECK(reinterpret_cast<uintptr_t>(buffer->data()) % 64 == 0);
    CHECK(buffer->device() == Device{});
    std::memset(buffer->data(), 0x5a, bytes);
  }
}

TEST_CASE("a freed block serves the next request of its size") {
  release_cached_host_memory();
  auto first = allocate_host(1000);
  const std::byte* block = first->data();
  const auto second = allocate_host(1000);
  CHECK(second->data() != block);
  first.reset();
  CHECK(allocate_host(1001)->data() == block);  // of the same size class
  release_cached_host_memory();
}

TEST_CASE("a limit holds on its thread, while it lives, and within another one") {
  const auto refusal = [](size_t bytes) { return error_of([&] { allocate_host(bytes); }); };
  {
    const AllocationLimit outer(1000);
    CHECK(refusal(1000).empty());
    CHECK(
        refusal(1001) ==
        "ResourceExhausted: expected a tensor of at most 1000 bytes, which is the limit here, got "
        "one of 1001 bytes.");
    {
      const AllocationLimit above(2000), below(10);
      CHECK_FALSE(refusal(11).empty());
    }
    CHECK(refusal(1000).empty());
    std::thread([&] { CHECK(refusal(1001).empty()); }).join();
  }
  CHECK(refusal(1001).empty());
}

TEST_CASE("memory that isn't there is an error with the size") {
  for (const size_t bytes : {~size_t{0}, size_t{1} << 61}) {
    CHECK(error_of([&] { allocate_host(bytes); }) ==
          "ResourceExhausted: Out of memory: " + std::to_string(bytes) +
              " bytes of host memory were asked for.");
  }
}

TEST_CASE("threads never share a block") {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 300; ++i) {
        const auto a = allocate_host(256);
        const auto b = allocate_host(256);
        std::memset(a->data(), static_cast<int>(t), 256);
        std::memset(b->data(), 100, 256);
        wrong[t] += a->data()[255] != static_cast<std::byte>(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}
