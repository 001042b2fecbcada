// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/child.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "apps/cornu/launch/error.h"

namespace apps {
namespace {

struct Pipe {
  cornu::FileDescriptor read;
  cornu::FileDescriptor write;

  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail_launch("no pipe for a task: {}", std::strerror(errno));
    read = cornu::FileDescriptor(ends[0]);
    write = cornu::FileDescriptor(ends[1]);
  }
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void set_affinity(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const auto most = static_cast<size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1;
  cpu_set_t* set = CPU_ALLOC(most);
  const size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set);
  for (const int cpu : cpus) CPU_SET_S(static_cast<size_t>(cpu), bytes, set);
  sched_setaffinity(0, bytes, set);  // if a core went offline since, it runs on others
  CPU_FREE(set);
}

// Runs in the new process. Returns when the program can't be run, with errno set.
void become(const ChildOptions& options, pid_t launcher, int output, int errors) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(128 + SIGKILL);  // the launcher ended before that
  set_affinity(options.cpus);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(errors, STDERR_FILENO) < 0) {
    return;
  }
  if (options.listens >= 0) fcntl(options.listens, F_SETFD, 0);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &options.signal_mask, nullptr);
  const std::vector<char*> arguments = pointers_to(options.command);
  const std::vector<char*> environment = pointers_to(options.environment);
  execvpe(arguments.front(), arguments.data(), environment.data());
}

}  // namespace

Child start_child(const ChildOptions& options) {
  Pipe output;
  Pipe errors;
  Pipe failure;
  const pid_t launcher = getpid();
  Child child;
  child.pid = fork();
  if (child.pid < 0) fail_launch("no process for a task: {}", std::strerror(errno));
  if (child.pid == 0) {
    become(options, launcher, output.write.get(), errors.write.get());
    const int error = errno;
    [[maybe_unused]] const ssize_t count = ::write(failure.write.get(), &error, sizeof error);
    _exit(127);
  }
  setpgid(child.pid,
          child.pid);  // both processes do this: the group must exist before it is signaled
  for (Pipe* pipe : {&output, &errors, &failure}) pipe->write = cornu::FileDescriptor();
  if (::read(failure.read.get(), &child.error, sizeof child.error) > 0) {
    waitpid(child.pid, nullptr, 0);
    child.pid = -1;
    return child;
  }
  child.error = 0;
  fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
  fcntl(errors.read.get(), F_SETFL, O_NONBLOCK);
  child.output = std::move(output.read);
  child.errors = std::move(errors.read);
  return child;
}

}  // namespace apps
