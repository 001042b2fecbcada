// SPDX-License-Identifier: Apache-2.0
// How AUTOTUNE chooses: from what consumers found when they asked for an element. Nothing here
// changes what comes, nor positions.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "data/element.h"

namespace cornu::data {

// Bytes of an element's tensors, also where it shares them.
int64_t bytes_of(const Element& element);

// Memory that this process could still have: the machine's, and its container's limit counts.
int64_t available_memory();

// What the elements that one iterator's stages have made ahead may take. Stages that were told how
// many to keep count, but aren't held back. Thread-safe.
class MemoryBudget {
 public:
  // 0: half of the available memory when it is first asked about.
  explicit MemoryBudget(int64_t bytes) : asked_(bytes) {}

  void add(int64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }

  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  // May a stage have `bytes` more?
  bool has_room(int64_t bytes = 0);

 private:
  const int64_t asked_;
  std::once_flag chosen_;
  int64_t most_ = 0;
  std::atomic<int64_t> used_ = 0;
};

// A buffer that grows when it is found empty after having been full: then its producer is fast
// enough, but not evenly.
class TunedBuffer {
 public:
  static constexpr int64_t kFirst = 2;
  static constexpr int64_t kMost = 64;

  int64_t size() const { return size_; }
  // An element was asked for when `fill` were there. `room`: there is memory for twice as many.
  void asked(int64_t fill, bool room);

 private:
  int64_t size_ = kFirst;
  bool was_full_ = false;
};

// What the consumer of an iterator does: it alone tells whether a pipeline is fast enough. Written
// by its thread, read by those that work for it.
class Demand {
 public:
  // Somebody wants to know: until then, nothing is measured.
  void watch() { watched_.store(true, std::memory_order_relaxed); }
  bool is_watched() const { return watched_.load(std::memory_order_relaxed); }

  // The calling thread asked for an element at `start` and got it at `end`, in nanoseconds.
  void given(int64_t start, int64_t end);

  int64_t elements() const { return elements_.load(std::memory_order_relaxed); }  // that were given
  // From one element to the next, and how much of that the consumer waits; of the last ones, on
  // average, in nanoseconds.
  int64_t period() const { return period_.load(std::memory_order_relaxed); }
  int64_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  // Is the calling thread the consumer's?
  bool is_consumer() const { return consumer_.load() == std::this_thread::get_id(); }

 private:
  std::atomic<bool> watched_ = false;
  std::atomic<int64_t> elements_ = 0;
  std::atomic<int64_t> period_ = 0;
  std::atomic<int64_t> waiting_ = 0;
  std::atomic<std::thread::id> consumer_ = {};
  int64_t last_ = 0;  // when the last one was given
};

// Would the thread that pulls a map's elements do as well without the pool? Where it works ahead of
// a consumer that never waits, other threads' waking up only takes cores from what that computes.
class NeedOfThreads {
 public:
  // The function was called once more, for so long. `alone`: by a thread that isn't the consumer's.
  void worked(int64_t nanoseconds, const Demand& demand, bool alone);
  bool is_needed() const { return needed_; }

 private:
  bool needed_ = true;
  int64_t work_ = 0;      // since `elements_`
  int64_t elements_ = 0;  // of the consumer
  int64_t patience_ = 1;  // windows in which the consumer mustn't have waited
  int64_t calm_ = 0;      // windows in which it didn't
};

// How many threads go through an interleave's datasets: none while an element takes less than
// waking one up, then one more whenever the consumer waits while all are at work.
class TunedThreads {
 public:
  // `most`: cores that may work for it.
  explicit TunedThreads(int64_t most) : most_(most) {}

  int64_t threads() const { return threads_; }
  // An element took so long on the consumer's thread, where there are none.
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

// How many elements a map works on ahead of its consumer: more while that waits though threads are
// idle, fewer while results lie about; none where an element costs less than a thread's waking up.
class TunedCalls {
 public:
  // `cores`: that may work for it.
  explicit TunedCalls(int64_t cores) : most_(2 * cores), ahead_(most_ < 4 ? most_ : most_ / 2) {}

  // In flight; 0: each element is computed where it is asked for.
  int64_t ahead() const { return is_small_ ? 0 : ahead_; }

  struct Taken {
    int64_t nanoseconds = 0;    // that the function took
    bool waited = false;        // was the consumer kept waiting?
    bool threads_idle = false;  // could others have helped?
    bool all_done = false;      // was everything in flight done?
    bool room = true;           // in memory, for one more
  };
  void took(const Taken& taken);

 private:
  const int64_t most_;
  int64_t ahead_;
  int64_t calm_ = 0;  // times in a row that all was done
  bool is_small_ = false;
  double average_ = 100'000;  // nanoseconds; at first it is worth a thread
};

}  // namespace cornu::data
