// SPDX-License-Identifier: Apache-2.0
// How many CPUs a container lets its processes use.
#pragma once

#include <filesystem>
#include <optional>

namespace cornu {

// The limit that control groups (cgroup v1's cpu.cfs_quota_us, v2's cpu.max) set on this process's
// CPU time, in CPUs rounded up; none where there is no limit or it can't be read. The smallest of
// the process's group and those that hold it counts. `root` is where proc/ and sys/ are found.
std::optional<int> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace cornu
