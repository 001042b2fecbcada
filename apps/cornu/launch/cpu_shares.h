// SPDX-License-Identifier: Apache-2.0
// Which cores each task has.
#pragma once

#include <sched.h>

#include <vector>

namespace apps {

struct CpuShare {
  std::vector<int> cpus;  // that the task may run on
  int threads = 1;        // that it should compute with
  bool overlaps = false;  // with another task's share: waiting threads must not spin
};

// Divides the CPUs of this process among `tasks` as evenly as possible: neighbours (hyperthreads of
// a core, cores of a socket) go together. A container's quota counts. With more tasks than CPUs,
// all have all of them, and the system's scheduler divides: nobody knows better which ones wait.
std::vector<CpuShare> share_cpus(int tasks);

// The same for given CPUs, in the order in which they are neighbours, of which processes may use
// `usable` at a time.
std::vector<CpuShare> share_cpus(const std::vector<int>& cpus, int usable, int tasks);

}  // namespace apps
