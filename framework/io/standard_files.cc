// SPDX-License-Identifier: Apache-2.0
#include "framework/io/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace cornu {

void occupy_standard_files() {
  const auto is_closed = [](int file) { return fcntl(file, F_GETFD) < 0 && errno == EBADF; };
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (!is_closed(file)) continue;
    // The first that is closed is the one that is opened; other threads may open it first.
    const int opened = open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened > STDERR_FILENO) close(opened);
  }
}

}  // namespace cornu
