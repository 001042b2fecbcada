// SPDX-License-Identifier: Apache-2.0
#include "framework/core/threads.h"

#include <doctest/doctest.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <atomic>
#include <cfenv>
#include <thread>
#include <vector>

#include "tests/support/errors.h"

using namespace cornu;

namespace {

// How often each index was visited; parts must begin at multiples of the grain size.
std::vector<int> visits(int64_t count, int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
  std::atomic<int> misplaced = 0;
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    misplaced += begin >= end || begin % grain != 0 || (end % grain != 0 && end != count);
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  CHECK(misplaced == 0);
  return {seen.begin(), seen.end()};
}

}  // namespace

TEST_CASE("parallel_for visits every index once") {
  for (const int threads : {1, 2, 3, 8}) {
    const ComputeThreadsScope scope(threads);
    for (const int64_t count : {1, 2, 7, 8, 9, 100, 1001}) {
      for (const int64_t grain : {1, 3, 8, 64, 5000}) {
        CAPTURE(threads);
        CAPTURE(count);
        CAPTURE(grain);
        CHECK(visits(count, grain) == std::vector<int>(static_cast<size_t>(count), 1));
      }
    }
  }
}

TEST_CASE("parallel_for of nothing calls nobody; a grain of 0 counts as 1") {
  bool called = false;
  parallel_for(0, 1, [&](int64_t, int64_t) { called = true; });
  parallel_for(-3, 1, [&](int64_t, int64_t) { called = true; });
  parallel_parts(0, [&](int) { called = true; });
  CHECK_FALSE(called);
  std::atomic<int64_t> sum = 0;
  parallel_for(10, 0, [&](int64_t begin, int64_t end) { sum += end - begin; });
  CHECK(sum == 10);
}

TEST_CASE("a loop within a loop runs on its caller") {
  const ComputeThreadsScope scope(4);
  std::vector<std::atomic<int>> seen(64);
  std::atomic<int> elsewhere = 0;
  parallel_for(8, 1, [&](int64_t begin, int64_t end) {
    const auto caller = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i) {
      parallel_for(8, 1, [&](int64_t first, int64_t last) {
        elsewhere += std::this_thread::get_id() != caller;
        for (int64_t j = first; j < last; ++j) ++seen[static_cast<size_t>(8 * i + j)];
      });
    }
  });
  CHECK(elsewhere == 0);
  for (const auto& count : seen) CHECK(count == 1);
}

TEST_CASE("parallel_parts runs every part once, also more parts than threads") {
  const ComputeThreadsScope scope(2);
  std::vector<std::atomic<int>> seen(11);
  parallel_parts(11, [&](int part) { ++seen[static_cast<size_t>(part)]; });
  for (const auto& count : seen) CHECK(count == 1);
}

// The product as computed by each of two threads.
std::vector<float> products(float a, float b) {
  const volatile float first = a, second = b;
  std::vector<float> result(2);
  parallel_parts(2, [&](int part) { result[static_cast<size_t>(part)] = first * second; });
  return result;
}

TEST_CASE("a region of few parts leaves the other threads for the next one") {
  const ComputeThreadsScope scope(4);
  static thread_local int visits = 0;  // of this thread, which starts at 0
  const auto count_visits = [] {
    std::vector<int> counts(4);
    parallel_parts(4, [&](int part) { counts[static_cast<size_t>(part)] = ++visits; });
    return counts;
  };
  const std::vector<int> first = count_visits();
  for (const int parts : {2, 3, 1, 2}) {
    std::atomic<int> ran = 0;
    parallel_parts(parts, [&](int) { ++ran; });
    CHECK(ran == parts);
  }
  const std::vector<int> second = count_visits();
  for (size_t i = 0; i < first.size(); ++i) CHECK(second[i] == first[i] + 1);
}

TEST_CASE("all threads round as their caller does") {
  const ComputeThreadsScope two(2);
  const float third = products(1.0f / 3, 1.1f)[0];
  std::fesetround(FE_UPWARD);
  const std::vector<float> upward = products(1.0f / 3, 1.1f);
  std::fesetround(FE_DOWNWARD);
  const std::vector<float> downward = products(1.0f / 3, 1.1f);
  std::fesetround(FE_TONEAREST);
  CHECK(upward[0] > downward[0]);
  CHECK(upward[1] == upward[0]);
  CHECK(downward[1] == downward[0]);
  CHECK(products(1.0f / 3, 1.1f) == std::vector<float>{third, third});
}

#if defined(__SSE2__) || defined(__aarch64__)
// Makes this thread replace tiny results by zero, or not.
void flush_to_zero(bool on) {
#ifdef __SSE2__
  _MM_SET_FLUSH_ZERO_MODE(on ? _MM_FLUSH_ZERO_ON : _MM_FLUSH_ZERO_OFF);
#else
  const uint64_t control = on ? uint64_t{1} << 24 : 0;
  asm volatile("msr fpcr, %0" : : "r"(control));
#endif
}

TEST_CASE("all threads treat tiny numbers as their caller does") {
  const ComputeThreadsScope two(2);
  const float denormal = products(1e-30f, 1e-10f)[0];
  CHECK(denormal > 0);
  flush_to_zero(true);
  const std::vector<float> flushed = products(1e-30f, 1e-10f);
  flush_to_zero(false);
  CHECK(flushed == std::vector<float>{0, 0});
  CHECK(products(1e-30f, 1e-10f) == std::vector<float>{denormal, denormal});
}
#endif

TEST_CASE("what a part throws is thrown to the caller, when all parts have ended") {
  for (const int parts : {1, 8, 100}) {
    CAPTURE(parts);
    std::atomic<int> ended = 0;
    auto fails = [&](int part) {
      if (part == parts / 2) throw std::bad_alloc();
      ++ended;
    };
    CHECK_THROWS_AS(parallel_parts(parts, fails), std::bad_alloc);
    if (parts > 1) CHECK(ended >= parts / 2);
  }
  CHECK(test::message_of<InvalidArgument>([] {
          parallel_for(1000, 1, [](int64_t begin, int64_t) {
            check<InvalidArgument>(begin < 0, "a kernel's error");
          });
        }) == "a kernel's error");
  std::atomic<int> sum = 0;
  parallel_parts(8, [&](int part) { sum += part; });  // the threads are still usable
  CHECK(sum == 28);
}

TEST_CASE("compute threads belong to a thread and its scopes") {
  const int standard = compute_threads();
  CHECK(standard >= 1);
  {
    const ComputeThreadsScope three(3);
    CHECK(compute_threads() == 3);
    {
      const ComputeThreadsScope none(0);
      CHECK(compute_threads() == 1);
    }
    CHECK(compute_threads() == 3);
    int elsewhere = 0;
    std::thread([&] { elsewhere = compute_threads(); }).join();
    CHECK(elsewhere == standard);
  }
  CHECK(compute_threads() == standard);
}

TEST_CASE("a stack that is too small for compute threads is an error") {
  for (const char* enough : {"256", "256k", " 1 M", "1g", "300000B", "nonsense", ""}) {
    internal::check_stack_size(enough);
  }
  internal::check_stack_size(nullptr);
  CHECK(test::message_of<FailedPrecondition>([] { internal::check_stack_size("16k"); }) ==
        "Compute threads: expected at least 256k of stack for each, got OMP_STACKSIZE=16k. Set it "
        "higher, or not at all.");
  CHECK_THROWS_AS(internal::check_stack_size("64"), FailedPrecondition);
  CHECK_THROWS_AS(internal::check_stack_size("1000 b"), FailedPrecondition);
}

TEST_CASE("loops of several threads at once") {
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const ComputeThreadsScope scope(2);
      for (int round = 0; round < 50; ++round) {
        parallel_for(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sum == 4 * 50 * 100);
}
