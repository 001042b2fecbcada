// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "apps/cornu/launch/error.h"

namespace apps {
namespace {

// Reads groups to kill and, as negative numbers, those that have ended, until all writers are gone.
void guard_groups(int pipe) {
  std::set<pid_t> groups;
  pid_t group = 0;
  while (true) {
    const ssize_t count = ::read(pipe, &group, sizeof group);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof group) break;
    if (group > 0) {
      groups.insert(group);
    } else {
      groups.erase(-group);
    }
  }
  for (const pid_t left : groups) kill(-left, SIGKILL);
}

}  // namespace

Guard::Guard() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_launch("no pipe: {}", std::strerror(errno));
  const cornu::FileDescriptor read(ends[0]);
  pipe_ = cornu::FileDescriptor(ends[1]);
  process_ = fork();
  if (process_ < 0) fail_launch("no process: {}", std::strerror(errno));
  if (process_ > 0) return;
  setsid();  // a terminal's signals aren't meant for it
  prctl(PR_SET_NAME, "cornu-guard");
  pipe_ = cornu::FileDescriptor();
  // Readers of the launcher's output must see its end.
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(file);
  guard_groups(read.get());
  _exit(0);
}

Guard::~Guard() {
  pipe_ = cornu::FileDescriptor();
  waitpid(process_, nullptr, 0);
}

void Guard::watch(pid_t group) { tell(group); }
void Guard::forget(pid_t group) { tell(-group); }

void Guard::tell(pid_t group) {
  // Without a guard, the job continues.
  [[maybe_unused]] const ssize_t count = ::write(pipe_.get(), &group, sizeof group);
}

}  // namespace apps
