// SPDX-License-Identifier: Apache-2.0
#include "framework/core/cpu_quota.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace fs = std::filesystem;
using cornu::cpu_quota;

namespace {

// A tree of files like /proc and /sys.
class Machine {
 public:
  Machine() : root_(fs::temp_directory_path() / ("cornu_quota_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
  }
  ~Machine() { fs::remove_all(root_); }

  Machine& file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
    return *this;
  }
  std::optional<int> quota() const { return cpu_quota(root_); }

 private:
  fs::path root_;
};

constexpr const char* kVersion2 =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 none rw";

}  // namespace

TEST_CASE("cpu.max of the process's group, rounded up") {
  Machine machine;
  machine.file("proc/self/mountinfo", kVersion2).file("proc/self/cgroup", "0::/app/web");
  CHECK(machine.quota() == std::nullopt);
  machine.file("sys/fs/cgroup/app/web/cpu.max", "max 100000");
  CHECK(machine.quota() == std::nullopt);
  machine.file("sys/fs/cgroup/app/web/cpu.max", "150000 100000");
  CHECK(machine.quota() == 2);
  machine.file("sys/fs/cgroup/app/web/cpu.max", "100000 100000");
  CHECK(machine.quota() == 1);
  machine.file("sys/fs/cgroup/app/web/cpu.max", "20000 100000");
  CHECK(machine.quota() == 1);
}

TEST_CASE("a group that holds the process's may allow less") {
  Machine machine;
  machine.file("proc/self/mountinfo", kVersion2).file("proc/self/cgroup", "0::/app/web");
  machine.file("sys/fs/cgroup/app/web/cpu.max", "800000 100000");
  machine.file("sys/fs/cgroup/app/cpu.max", "300000 100000");
  CHECK(machine.quota() == 3);
  machine.file("sys/fs/cgroup/cpu.max", "200000 100000");
  CHECK(machine.quota() == 2);
}

TEST_CASE("a container sees its own group as the top") {
  Machine machine;
  machine.file("proc/self/mountinfo", kVersion2).file("proc/self/cgroup", "0::/");
  machine.file("sys/fs/cgroup/cpu.max", "250000 100000");
  CHECK(machine.quota() == 3);
  // Or a group that isn't mounted at all.
  machine.file("proc/self/cgroup", "0::/../other");
  CHECK(machine.quota() == 3);
}

TEST_CASE("version 1: quota and period, beside other hierarchies") {
  Machine machine;
  machine.file("proc/self/mountinfo",
               "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
               "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct");
  machine.file("proc/self/cgroup", "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc/inner\n0::/");
  machine.file("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "-1");
  machine.file("sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000");
  CHECK(machine.quota() == std::nullopt);
  machine.file("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "350000");
  CHECK(machine.quota() == 4);
  machine.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000");
  machine.file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  CHECK(machine.quota() == 1);
}

TEST_CASE("no control groups, and files that say nothing, are no limit") {
  Machine machine;
  CHECK(machine.quota() == std::nullopt);
  machine.file("proc/self/mountinfo", std::string("x\n - \n1 2 3 4 5 6 -\n") + kVersion2);
  machine.file("proc/self/cgroup", "0:\nnonsense\n0::/a");
  machine.file("sys/fs/cgroup/a/cpu.max", "");
  CHECK(machine.quota() == std::nullopt);
  machine.file("sys/fs/cgroup/a/cpu.max", "100000 0");
  CHECK(machine.quota() == std::nullopt);
  machine.file("sys/fs/cgroup/a/cpu.max", "1e300 1");
  CHECK(machine.quota() == 1 << 20);
}
