// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/begun.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "apps/cornu/launch/error.h"

namespace apps {

BegunFile::BegunFile() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    fail_launch("no pipe for what has begun: {}", std::strerror(errno));
  }
  read_ = cornu::FileDescriptor(ends[0]);
  write_ = cornu::FileDescriptor(ends[1]);
  fcntl(read_.get(), F_SETFL, O_NONBLOCK);
}

std::string BegunFile::name() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), write_.get());
}

bool BegunFile::take() {
  char bytes[256];
  bool any = false;
  while (::read(read_.get(), bytes, sizeof bytes) > 0) any = true;
  return any;
}

}  // namespace apps
