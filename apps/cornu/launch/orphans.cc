// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/orphans.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace apps {
namespace {

// Whether the process is a child of this one, in the same session, and hasn't ended.
bool is_left(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text, '\0');
  const size_t name_end = text.rfind(')');  // a program's name may contain any character
  char state = 0;
  int parent = 0;
  int group = 0;
  int session = 0;
  return name_end != std::string::npos &&
         std::sscanf(text.c_str() + name_end + 1, " %c %d %d %d", &state, &parent, &group,
                     &session) == 4 &&
         parent == getpid() && session == getsid(0) && state != 'Z';
}

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> children_in_session() {
  std::vector<pid_t> children;
  std::error_code none;
  std::filesystem::directory_iterator entry("/proc", none);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(none)) {
    const pid_t process = std::atoi(entry->path().filename().c_str());
    if (process > 0 && is_left(entry->path())) children.push_back(process);
  }
  return children;
}

}  // namespace apps
