// SPDX-License-Identifier: Apache-2.0
// Streams that run on threads which they share.
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

// At most so many threads, however many streams there are. They start when there is work, and end
// with the pool, which outlives its streams.
class StreamPool {
 public:
  // A stream, and what has been made of it.
  struct Work {
    Work(StreamPtr<Element> stream, size_t room) : input(std::move(stream)), room(room) {}

    struct Made {
      Element element = {};
      std::exception_ptr error = {};        // in its place
      streams::KeptPosition position = {};  // after it
    };
    StreamPtr<Element> input;  // the thread's that runs it
    const size_t room;
    std::deque<Made> ready;  // guarded by the pool, as all below
    bool queued = false;
    bool running = false;
    bool ended = false;
    bool dropped = false;
  };

  explicit StreamPool(int64_t threads) : threads_(threads) {}
  // Where `threads` is kAutotune, as many as are worth it, up to `cores`.
  StreamPool(int64_t threads, int64_t cores) : threads_(threads) {
    if (threads == kAutotune) tuned_.emplace(cores);
  }
  ~StreamPool();
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;

  // Will its threads be those of this very process, not of one that forked it?
  bool is_ours() const { return process_ == getpid(); }
  // Shall streams be gone through by who takes their elements, who tells how long each took?
  bool is_at_rest() const { return tuned_ && tuned_->threads() == 0; }
  void took(int64_t nanoseconds) { tuned_->took(nanoseconds); }
  // Begins to work on it.
  void begin(Work& work);
  // The next one; false at the end.
  bool take(Work& work, Work::Made& made);
  // Ends the work; returns when no thread is at it.
  void drop(Work& work);

 private:
  void queue(Work& work, bool first);
  void run();

  size_t most() const { return static_cast<size_t>(tuned_ ? tuned_->threads() : threads_); }

  const int64_t threads_;
  std::optional<TunedThreads> tuned_;  // of who takes elements
  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable queued_;
  std::condition_variable made_;
  std::deque<Work*> queue_;  // guarded by mutex_, as all below
  size_t idle_ = 0;
  const Work* wanted_ = nullptr;  // somebody waits for an element of it
  bool stopped_ = false;
  std::vector<std::thread> running_;  // last: they use the others
};

// Up to `buffer_size` (>= 1) elements ahead of who takes them, by the threads of `pool`.
StreamPtr<Element> make_pooled_stream(StreamPtr<Element> input, int64_t buffer_size,
                                      StreamPool& pool);

}  // namespace cornu::data
