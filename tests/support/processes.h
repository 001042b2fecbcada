// SPDX-License-Identifier: Apache-2.0
// Tests in processes of their own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "framework/core/error.h"

namespace cornu::test {

constexpr unsigned kProcessSeconds = 60;  // then a process counts as hanging
constexpr int kTypedError = 3;            // what one ends with that threw an Error

// How a child ended: its exit code, or minus the signal that killed it.
inline int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Runs `body` in a forked process: 0 where it returns true, 1 where false.
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

}  // namespace cornu::test
