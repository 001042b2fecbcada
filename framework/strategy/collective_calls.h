// SPDX-License-Identifier: Apache-2.0
// Collectives between threads of one process, which may run while their ranks do other work.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "framework/graph/collective_call.h"

namespace cornu {

// There is one per group. A rank that starts a call only registers its memory. The work is done by
// ranks that wait for something, or start the next call: each does its part of a call once all
// ranks have started it. Ranks must make the same calls in the same order, but may wait for them in
// any way.
class CollectiveCalls {
 public:
  // `reducers`: the number of ranks, counted from the first one, that share the work of reductions.
  CollectiveCalls(int size, int reducers, std::chrono::milliseconds timeout);

  // Returns the call's ticket. Blocks only when many calls are in progress.
  int64_t start(int rank, CollectiveCall call);
  // Waits until this call and all earlier ones are done. Throws RanksDiffer when the ranks' calls
  // differ, or another rank's step ends without the call; DeadlineExceeded; Aborted.
  void await(int rank, int64_t ticket);

  void end_step();
  // Wakes all waiting ranks. Returns once no rank uses another one's memory anymore.
  void abort(const std::string& why);

 private:
  static constexpr int64_t kMax = 64;     // calls in progress at the same time
  static constexpr int64_t kSmall = 256;  // up to this many elements every rank reduces all itself

  struct Round {
    int64_t ticket = -1;
    std::vector<CollectiveCall> calls;            // by rank
    std::vector<std::vector<std::byte>> results;  // by rank, of small reductions
    // The number of ranks that have started it, done their part, and fetched the results of a small
    // one.
    int started = 0;
    int worked = 0;
    int done = 0;
  };
  // The progress of a rank: the tickets it processes next.
  struct Progress {
    int64_t start = 0;
    int64_t work = 0;
    int64_t take = 0;
  };

  Round& at(int64_t ticket) { return rounds_[static_cast<size_t>(ticket % kMax)]; }
  bool is_done(int64_t ticket);
  // Does pending work until `ready`, on behalf of this ticket.
  template <class Ready>
  void wait(int rank, int64_t ticket, std::unique_lock<std::mutex>& lock, Ready ready);
  void advance(int rank, std::unique_lock<std::mutex>& lock);
  void work(int rank, Round& round);
  void take(int rank, const Round& round);
  void reduce_share(int rank, const Round& round);
  void reduce_all(int rank, Round& round);
  static std::vector<const void*> inputs(const Round& round, size_t segment);
  void require_agreement(const Round& round) const;
  void wait_for_change(int rank, int64_t ticket, std::unique_lock<std::mutex>& lock);
  std::string missing(int rank, int64_t ticket);
  std::unique_lock<std::mutex> locked();
  void throw_if_aborted() const;
  void changed();

  int size_;
  int reducers_;
  std::chrono::milliseconds timeout_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable condition_;
  std::array<Round, kMax> rounds_;
  std::vector<Progress> progress_;  // by rank
  std::atomic<uint64_t> changes_ = 0;
  int working_ = 0;  // ranks that are using others' memory without the lock
  int ended_ = 0;    // ranks that have ended this step
  std::optional<std::string> aborted_;
};

}  // namespace cornu
