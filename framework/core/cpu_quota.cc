// SPDX-License-Identifier: Apache-2.0
#include "framework/core/cpu_quota.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace cornu {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool lists(const std::string& names, const std::string& name) {
  const std::vector<std::string> parts = split(names, ',');
  return std::find(parts.begin(), parts.end(), name) != parts.end();
}

// A mounted control group hierarchy that may limit CPU time.
struct Hierarchy {
  bool unified = false;  // version 2
  std::string top;       // the group at the mount point
  std::string mounted_at;
};

// Parses /proc/self/mountinfo: "id parent device root mount-point options [tags] - type source
// more".
std::vector<Hierarchy> hierarchies(const fs::path& root) {
  std::vector<Hierarchy> result;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 2) continue;
    const std::string& type = dash[1];
    const bool cpu = type == "cgroup" && lists(words.back(), "cpu");
    if (type == "cgroup2" || cpu) result.push_back({type == "cgroup2", words[3], words[4]});
  }
  return result;
}

// The process's group in a hierarchy, from /proc/self/cgroup: "number:controllers:group".
std::string group_of(const fs::path& root, bool unified) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : lists(controllers, "cpu")) return line.substr(second + 1);
  }
  return "/";
}

// The number of CPUs that one group's files allow.
std::optional<double> limit_of(const fs::path& group, bool unified) {
  double quota = -1;
  double period = 0;
  if (unified) {
    std::ifstream(group / "cpu.max") >> quota >> period;  // "max 100000" leaves the quota at 0
  } else {
    std::ifstream(group / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group / "cpu.cfs_period_us") >> period;
  }
  if (!(quota > 0 && period > 0)) return std::nullopt;
  return quota / period;
}

}  // namespace

std::optional<int> cpu_quota(const fs::path& root) {
  std::optional<double> least;
  for (const Hierarchy& hierarchy : hierarchies(root)) {
    const fs::path top = root / fs::path(hierarchy.mounted_at).relative_path();
    // In its own namespace a process may see its group as outside of the mounted hierarchy.
    fs::path inside = fs::path(group_of(root, hierarchy.unified)).lexically_relative(hierarchy.top);
    if (inside.empty() || *inside.begin() == "..") inside = ".";
    fs::path group = (top / inside).lexically_normal();
    for (;;) {
      const auto limit = limit_of(group, hierarchy.unified);
      if (limit) least = std::min(*limit, least.value_or(*limit));
      if (inside == "." || inside.empty()) break;
      inside = inside.parent_path();
      group = (top / inside).lexically_normal();
    }
  }
  if (!least) return std::nullopt;
  constexpr double kMax = 1 << 20;
  return static_cast<int>(std::ceil(std::min(*least, kMax)));
}

}  // namespace cornu
