// SPDX-License-Identifier: Apache-2.0
// Assignment of cores to tasks.
#pragma once

#include <sched.h>

#include <vector>

namespace apps {

struct CpuShare {
  std::vector<int> cpus;  // the CPUs that the task may run on
  int threads = 1;        // number of threads that it should compute with
  bool overlaps = false;  // with another task's share: waiting threads mustn't spin
};

// Divides the CPUs of this process among `tasks` as evenly as possible, keeping neighbors
// (hyperthreads of a core, cores of a socket) together. Respects a container's quota. With more
// tasks than CPUs, all tasks share all CPUs and are left to the system's scheduler, which knows
// best which of them are waiting.
std::vector<CpuShare> share_cpus(int tasks);

// The same for given CPUs, ordered by proximity, of which processes may use `usable` at a time.
std::vector<CpuShare> share_cpus(const std::vector<int>& cpus, int usable, int tasks);

}  // namespace apps
