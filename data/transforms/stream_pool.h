// SPDX-License-Identifier: Apache-2.0
// Runs streams on shared threads.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "data/autotune.h"
#include "data/node.h"

namespace cornu::data {

// Has at most a given number of threads, regardless of the number of streams. Threads start when
// there is work, and end with the pool, which outlives its streams.
class StreamPool {
 public:
  // A stream, and the elements computed so far.
  struct Work {
    Work(StreamPtr<Element> stream, size_t room) : input(std::move(stream)), room(room) {}

    struct Made {
      Element element = {};
      std::exception_ptr error = {};        // thrown instead of the element
      streams::KeptPosition position = {};  // after the element
    };
    StreamPtr<Element> input;  // used by the thread that runs it
    const size_t room;
    std::deque<Made> ready;  // guarded by the pool, like all below
    bool queued = false;
    bool running = false;
    bool ended = false;
    bool dropped = false;
  };

  explicit StreamPool(int64_t threads) : threads_(threads) {}
  // If `threads` is kAutotune, uses as many as are worthwhile, up to `cores`.
  StreamPool(int64_t threads, int64_t cores) : threads_(threads) {
    if (threads == kAutotune) tuned_.emplace(cores);
  }
  ~StreamPool();
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;

  // Whether its threads belong to this process, as opposed to a parent that forked it.
  bool is_ours() const { return process_ == getpid(); }
  // Whether streams should be run by the thread that takes their elements, which reports how long
  // each took.
  bool is_at_rest() const { return tuned_ && tuned_->threads() == 0; }
  void took(int64_t nanoseconds) { tuned_->took(nanoseconds); }
  // Starts working on a stream.
  void begin(Work& work);
  // Takes the next element; returns false at the end.
  bool take(Work& work, Work::Made& made);
  // Ends the work; returns when no thread is working on it.
  void drop(Work& work);

 private:
  void queue(Work& work, bool first);
  void run();

  size_t most() const { return static_cast<size_t>(tuned_ ? tuned_->threads() : threads_); }

  const int64_t threads_;
  std::optional<TunedThreads> tuned_;  // used by whoever takes elements
  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable queued_;
  std::condition_variable made_;
  std::deque<Work*> queue_;  // guarded by mutex_, like all below
  size_t idle_ = 0;
  const Work* wanted_ = nullptr;  // somebody waits for one of its elements
  bool stopped_ = false;
  std::vector<std::thread> running_;  // last, since the threads use the other members
};

// Prefetches up to `buffer_size` (>= 1) elements on the threads of `pool`.
StreamPtr<Element> make_pooled_stream(StreamPtr<Element> input, int64_t buffer_size,
                                      StreamPool& pool);

}  // namespace cornu::data
