// SPDX-License-Identifier: Apache-2.0
// How long compute threads that wait for each other spin before they sleep.
//
// On a dedicated core a spinning thread responds immediately; when other programs compete for the
// cores, spinning keeps them from the very thread it waits for. libgomp spins for milliseconds, but
// only for about a microsecond when it manages more threads than there are CPUs. A small team of
// sleeping threads puts it in that mode for as long as the team lives: it is created while the
// cores are contended, and destroyed otherwise. Meanwhile compute threads ask the kernel for short
// time slices (sched_setattr; respected by Linux 6.12 and later): they get the same share of the
// cores, but don't wait for another program's whole slice.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "framework/core/threads.h"

namespace cornu {

// Estimates whether the cores are contended, from the time that the process's threads were ready to
// run but had to wait for a core. (The number of preemptions says little: the system's own threads
// interrupt for microseconds, as often as a busy program does for milliseconds.)
class ContentionEstimate {
 public:
  // Adds a measurement: in the `seconds` since the last call, threads waited for `waited` seconds,
  // summed over all threads. Returns the new estimate: contended once threads have waited for a
  // good part of 90 ms or longer (new threads share a core for some milliseconds, until the kernel
  // moves them apart), and no longer contended after half a second with (almost) no waiting.
  bool update(double seconds, double waited);

 private:
  bool contended_ = false;
  double crowded_ = 0;  // seconds
  double calm_ = 0;
};

// An OpenMP team of `threads` that has done nothing and sleeps until this is destroyed.
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

// Asks the kernel for short time slices for this thread and its compute threads, or for slices of
// the usual length. Harmless when the kernel refuses.
void take_short_turns(bool short_ones);

// Whether the user has decided how threads wait: GOMP_SPINCOUNT or OMP_WAIT_POLICY is set.
bool user_decides_waiting();

// Checks for contention periodically, and makes waiting threads spin less or more. Call it often,
// from a thread with compute threads, outside of parallel regions; it costs one clock read. A no-op
// if user_decides_waiting().
void adapt_waiting_threads();

// Waits up to `longest` for `ready` without sleeping, and returns whether it became true. Doesn't
// wait when there are fewer cores than `threads`, the number of threads that wait for each other.
// Yields when the cores are contended. For threads that would otherwise sleep: waking one takes as
// long as a small kernel.
bool spin_until(int threads, FunctionRef<bool()> ready,
                std::chrono::microseconds longest = std::chrono::microseconds(200));

// Ends what adapt_waiting_threads started; called before a fork.
void end_sleeping_threads();

}  // namespace cornu
