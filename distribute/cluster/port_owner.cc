// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/port_owner.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>

#include "framework/core/ascii.h"
#include "framework/core/strings.h"

namespace cornu::distribute {
namespace {

namespace fs = std::filesystem;

// Names of the sockets that listen on the port, in the form used by the links in /proc/PID/fd.
std::set<std::string> sockets_at(int port, const fs::path& table) {
  constexpr const char* kListens = "0A";
  const std::string ending = fmt::format(":{:04X}", port);
  std::set<std::string> sockets;
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
    fields >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >>
        inode;
    if (fields && state == kListens && local.ends_with(ending)) {
      sockets.insert("socket:[" + inode + "]");
    }
  }
  return sockets;
}

bool holds(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  fs::directory_iterator descriptor(process / "fd", error);
  for (; !error && descriptor != fs::directory_iterator(); descriptor.increment(error)) {
    std::error_code gone;
    if (sockets.contains(fs::read_symlink(descriptor->path(), gone).string())) return true;
  }
  return false;
}

std::string command_of(const fs::path& process) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::string command((std::istreambuf_iterator<char>(file)), {});
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::ranges::replace(command, '\0', ' ');
  return printable(command, 200);
}

}  // namespace

std::string port_owner(int port, const fs::path& proc) {
  std::set<std::string> sockets = sockets_at(port, proc / "net/tcp");
  sockets.merge(sockets_at(port, proc / "net/tcp6"));
  if (sockets.empty()) return "";
  std::error_code error;
  fs::directory_iterator entry(proc, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_process = std::ranges::all_of(name, ascii::is_digit);
    if (is_process && holds(entry->path(), sockets)) {
      return fmt::format("process {} ({})", name, command_of(entry->path()));
    }
  }
  return "";
}

}  // namespace cornu::distribute
