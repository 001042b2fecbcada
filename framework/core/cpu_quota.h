// SPDX-License-Identifier: Apache-2.0
// The number of CPUs that a container allows its processes to use.
#pragma once

#include <filesystem>
#include <optional>

namespace cornu {

// Returns the CPU limit that control groups (cgroup v1's cpu.cfs_quota_us, v2's cpu.max) set on
// this process, in CPUs rounded up; nullopt when there is no limit or it can't be read. The
// smallest limit among the process's group and its ancestors applies. `root` is the directory that
// contains proc/ and sys/.
std::optional<int> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace cornu
