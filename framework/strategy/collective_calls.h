// SPDX-License-Identifier: Apache-2.0
// Collectives between threads of one process, which may be under way while their ranks do other
// things.
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

// One for a group. A rank that starts a call only says where its memory lies. The work is done by
// ranks that wait for something, or start the next call: each does its part of a call when all have
// started it. Ranks make the same calls in the same order, but wait for them as they like.
class CollectiveCalls {
 public:
  // `reducers`: the ranks that share the work of reductions, from the first one on.
  CollectiveCalls(int size, int reducers, std::chrono::milliseconds timeout);

  // Returns the call's ticket. Waits only where many calls are under way.
  int64_t start(int rank, CollectiveCall call);
  // Waits until this call and those before it are done. RanksDiffer when the ranks' calls
  // differ, or another one's step ends without it; DeadlineExceeded; Aborted.
  void await(int rank, int64_t ticket);

  void end_step();
  // Wakes all who wait. Returns when nobody uses others' memory any more.
  void abort(const std::string& why);

 private:
  static constexpr int64_t kMost = 64;    // under way at once
  static constexpr int64_t kSmall = 256;  // elements that every rank reduces by itself

  struct Round {
    int64_t ticket = -1;
    std::vector<CollectiveCall> calls;            // by rank
    std::vector<std::vector<std::byte>> results;  // by rank, of small reductions
    // How many ranks have started it, done their part, and taken the results of a small one.
    int started = 0;
    int worked = 0;
    int done = 0;
  };
  // How far a rank is: the tickets it takes next.
  struct Progress {
    int64_t start = 0;
    int64_t work = 0;
    int64_t take = 0;
  };

  Round& at(int64_t ticket) { return rounds_[static_cast<size_t>(ticket % kMost)]; }
  bool is_done(int64_t ticket);
  // Does what there is to do until `ready`, for the sake of this ticket.
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
  std::mutex mutex_;  // guards all that follows
  std::condition_variable condition_;
  std::array<Round, kMost> rounds_;
  std::vector<Progress> progress_;  // by rank
  std::atomic<uint64_t> changes_ = 0;
  int working_ = 0;  // ranks that use others' memory, without the lock
  int ended_ = 0;    // ranks that are done with this step
  std::optional<std::string> aborted_;
};

}  // namespace cornu
