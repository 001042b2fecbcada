// SPDX-License-Identifier: Apache-2.0
// How long compute threads that wait for each other spin before they sleep.
//
// On cores of its own a thread that spins is there at once; where other programs want the cores it
// keeps them from the very thread it waits for. libgomp spins for milliseconds, but only for about
// a microsecond when it manages more threads than there are CPUs. A small team of threads that
// sleep makes it so, as long as they live: it is there while the cores are contended for, and gone
// otherwise. As long, compute threads ask the kernel for short turns (sched_setattr; Linux 6.12 and
// later heed it): the same share of the cores, but no wait for another program's whole turn.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "framework/core/threads.h"

namespace cornu {

// Are the cores contended for? Told by how long the process's threads were ready to run and had to
// wait for a core. (How often they were made to give one up says little: the system's own threads
// interrupt for microseconds, as often as a busy program does for milliseconds.)
class ContentionEstimate {
 public:
  // What happened in the `seconds` since the last call: `waited` seconds, summed over all threads.
  // Returns the new estimate: contended when threads waited for a good part of a time of 90 ms or
  // longer (new threads share a core for some milliseconds, until the kernel moves them apart), no
  // more after half a second with (almost) no waiting.
  bool update(double seconds, double waited);

 private:
  bool contended_ = false;
  double crowded_ = 0;  // seconds
  double calm_ = 0;
};

// An OpenMP team of `threads` that did nothing and sleeps until this ends.
class SleepingTeam {
 public:
  explicit SleepingTeam(int threads);
  ~SleepingTeam();
  SleepingTeam(const SleepingTeam&) = delete;
  SleepingTeam& operator=(const SleepingTeam&) = delete;

 private:
  void sleep(int threads);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

// Asks the kernel for short turns on a core for this thread and its compute threads, or for turns
// as long as usual. Where the kernel refuses nothing is lost.
void take_short_turns(bool short_ones);

// Whether the user has decided how threads wait: GOMP_SPINCOUNT or OMP_WAIT_POLICY is set.
bool user_decides_waiting();

// Takes a look now and then, and makes waiting threads spin less or more. Call it often, from a
// thread with compute threads, outside of parallel regions; it costs a look at the clock. Does
// nothing where user_decides_waiting().
void adapt_waiting_threads();

// Waits a while for `ready` without sleeping, and returns whether it is; not at all where the cores
// aren't enough for the `threads` that wait for each other. Where they are contended for it lets
// others have turns. For threads that sleep afterwards: waking one takes as long as a small kernel.
// `longest`: the while.
bool spin_until(int threads, FunctionRef<bool()> ready,
                std::chrono::microseconds longest = std::chrono::microseconds(200));

// Ends what adapt_waiting_threads started: before a fork.
void end_sleeping_threads();

}  // namespace cornu
