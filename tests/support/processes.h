// SPDX-License-Identifier: Apache-2.0
// Runs tests in separate processes.
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "framework/core/error.h"

namespace cornu::test {

constexpr unsigned kProcessSeconds = 60;  // after this time, a process counts as hanging
constexpr int kTypedError = 3;            // exit code of a process that threw an Error

// Returns how a child ended: its exit code, or minus the number of the signal that killed it.
inline int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Runs `body` in a forked process. Returns 0 when it returns true, 1 when false.
inline int forked(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kProcessSeconds);
    int code = 1;
    try {
      code = body() ? 0 : 1;
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      code = kTypedError;
    }
    _exit(code);
  }
  return wait_for(child);
}

// Runs one test of this program, which may be a skipped one, in a separate process, with these
// environment variables ("NAME=value") in place of those whose names begin with `without`.
inline int spawned(const std::string& test, const std::vector<std::string>& settings,
                   const std::string& without = "=") {
  std::vector<std::string> environment = settings;
  for (char** entry = environ; *entry; ++entry) {
    if (!std::string(*entry).starts_with(without)) environment.emplace_back(*entry);
  }
  std::vector<char*> variables;
  for (std::string& entry : environment) variables.push_back(entry.data());
  variables.push_back(nullptr);
  std::string program = "/proc/self/exe";
  std::string chosen = "--test-case=" + test;
  std::string hidden = "--no-skip";
  std::vector<char*> arguments = {program.data(), chosen.data(), hidden.data(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), variables.data())) {
    return -1;
  }
  return wait_for(child);
}

}  // namespace cornu::test
