// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/cpu_shares.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <tuple>

#include "framework/core/cpu_quota.h"

namespace apps {
namespace {

int topology_number(int cpu, const char* what) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + what);
  int number = 0;
  return file >> number ? number : 0;
}

// The CPUs that this process may run on, by socket and core.
std::vector<int> own_cpus() {
  // The set must cover all CPUs known to the kernel, which rejects smaller ones.
  for (int most = CPU_SETSIZE; most <= 1 << 20; most *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(most));
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(most));
    std::vector<std::tuple<int, int, int>> places;
    if (sched_getaffinity(0, bytes, set) == 0) {
      for (int cpu = 0; cpu < most; ++cpu) {
        if (!CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set)) continue;
        places.emplace_back(topology_number(cpu, "physical_package_id"),
                            topology_number(cpu, "core_id"), cpu);
      }
    }
    CPU_FREE(set);
    if (places.empty()) continue;
    std::sort(places.begin(), places.end());
    std::vector<int> cpus;
    for (const auto& place : places) cpus.push_back(std::get<2>(place));
    return cpus;
  }
  return {0};
}

}  // namespace

std::vector<CpuShare> share_cpus(const std::vector<int>& cpus, int usable, int tasks) {
  const int count = static_cast<int>(cpus.size());
  const int threads = std::min(count, std::max(usable, 1));
  std::vector<CpuShare> shares;
  for (int i = 0; i < tasks; ++i) {
    CpuShare share;
    if (tasks > threads) {
      share.cpus = cpus;
      share.overlaps = true;
    } else {
      share.cpus.assign(cpus.begin() + int64_t{count} * i / tasks,
                        cpus.begin() + int64_t{count} * (i + 1) / tasks);
      share.threads = threads * (i + 1) / tasks - threads * i / tasks;
    }
    shares.push_back(std::move(share));
  }
  return shares;
}

std::vector<CpuShare> share_cpus(int tasks) {
  const std::vector<int> cpus = own_cpus();
  return share_cpus(cpus, cornu::cpu_quota().value_or(static_cast<int>(cpus.size())), tasks);
}

}  // namespace apps
