// SPDX-License-Identifier: Apache-2.0
// How AUTOTUNE chooses, based on what consumers observe when they ask for an element. Nothing here
// affects the elements or positions.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "data/element.h"

namespace cornu::data {

// Bytes of an element's tensors, including memory they share.
int64_t bytes_of(const Element& element);

// Memory that this process could still allocate, subject to the machine and its container's limit.
int64_t available_memory();

// Limits the memory for elements that one iterator's stages have prefetched. Stages with a fixed
// number of elements count toward it, but aren't held back. Thread-safe.
class MemoryBudget {
 public:
  // 0: half of the available memory at the first query.
  explicit MemoryBudget(int64_t bytes) : asked_(bytes) {}

  void add(int64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }

  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  // Returns whether a stage may allocate `bytes` more.
  bool has_room(int64_t bytes = 0);

 private:
  const int64_t asked_;
  std::once_flag chosen_;
  int64_t most_ = 0;
  std::atomic<int64_t> used_ = 0;
};

// The size of a buffer, which grows when the buffer is found empty after having been full: its
// producer is then fast enough on average, but uneven.
class TunedBuffer {
 public:
  static constexpr int64_t kFirst = 2;
  static constexpr int64_t kMax = 64;

  int64_t size() const { return size_; }
  // Called when an element was requested while `fill` were ready. `room`: whether there is memory
  // for twice as many.
  void asked(int64_t fill, bool room);

 private:
  int64_t size_ = kFirst;
  bool was_full_ = false;
};

// Tracks an iterator's consumer, the only one who can tell whether a pipeline is fast enough.
// Written by the consumer's thread, read by those that work for it.
class Demand {
 public:
  // Starts measuring; until then, nothing is measured.
  void watch() { watched_.store(true, std::memory_order_relaxed); }
  bool is_watched() const { return watched_.load(std::memory_order_relaxed); }

  // The calling thread requested an element at `start` and got it at `end`, in nanoseconds.
  void given(int64_t start, int64_t end);

  int64_t elements() const { return elements_.load(std::memory_order_relaxed); }  // returned so far
  // The time from one element to the next, and the part of it that the consumer waits: moving
  // averages in nanoseconds.
  int64_t period() const { return period_.load(std::memory_order_relaxed); }
  int64_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  // Whether the calling thread is the consumer's.
  bool is_consumer() const { return consumer_.load() == std::this_thread::get_id(); }

 private:
  std::atomic<bool> watched_ = false;
  std::atomic<int64_t> elements_ = 0;
  std::atomic<int64_t> period_ = 0;
  std::atomic<int64_t> waiting_ = 0;
  std::atomic<std::thread::id> consumer_ = {};
  int64_t last_ = 0;  // when the last element was returned
};

// Whether a map benefits from the pool, or the thread that pulls its elements would do as well
// alone. If that thread works ahead of a consumer that never waits, waking other threads only takes
// cores from the consumer's computations.
class NeedOfThreads {
 public:
  // The function was called once more and took `nanoseconds`. `alone`: on a thread other than the
  // consumer's.
  void worked(int64_t nanoseconds, const Demand& demand, bool alone);
  bool is_needed() const { return needed_; }

 private:
  bool needed_ = true;
  int64_t work_ = 0;      // since `elements_`
  int64_t elements_ = 0;  // of the consumer
  int64_t patience_ = 1;  // windows that must pass without the consumer waiting
  int64_t calm_ = 0;      // windows in a row without waiting
};

// The number of threads that read an interleave's datasets: none while computing an element takes
// less than waking a thread, then one more whenever the consumer waits while all of them are busy.
class TunedThreads {
 public:
  // `most`: the number of cores it may use.
  explicit TunedThreads(int64_t most) : most_(most) {}

  int64_t threads() const { return threads_; }
  // An element took `nanoseconds` on the consumer's thread, when there are no other threads.
  void took(int64_t nanoseconds);
  // The consumer had to wait. `all_busy`: no thread was idle.
  void waited(bool all_busy) {
    if (all_busy && threads_ < most_) ++threads_;
  }

 private:
  const int64_t most_;
  int64_t threads_ = 0;
  double average_ = 0;  // nanoseconds
};

// How many elements a map computes ahead of its consumer: more while the consumer waits although
// threads are idle, fewer while results pile up, none if an element costs less than waking a
// thread.
class TunedCalls {
 public:
  // `cores`: the number it may use.
  explicit TunedCalls(int64_t cores) : most_(2 * cores), ahead_(most_ < 4 ? most_ : most_ / 2) {}

  // The number in flight; 0: each element is computed when it is requested.
  int64_t ahead() const { return is_small_ ? 0 : ahead_; }

  struct Taken {
    int64_t nanoseconds = 0;    // taken by the function
    bool waited = false;        // was the consumer kept waiting?
    bool threads_idle = false;  // could other threads have helped?
    bool all_done = false;      // was everything in flight done?
    bool room = true;           // in memory, for one more
  };
  void took(const Taken& taken);

 private:
  const int64_t most_;
  int64_t ahead_;
  int64_t calm_ = 0;  // times in a row that everything was done
  bool is_small_ = false;
  double average_ = 100'000;  // nanoseconds; initially enough to be worth a thread
};

}  // namespace cornu::data
