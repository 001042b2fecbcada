// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/sink.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace apps {
namespace {

// Reopens the file rather than setting a flag on `file`, which would affect everyone who has it
// open.
cornu::FileDescriptor opened_anew(int file) {
  struct stat status {};
  const bool may_wait = fstat(file, &status) == 0 && (S_ISFIFO(status.st_mode) || isatty(file));
  if (!may_wait) return {};
  const std::string name = fmt::format("/proc/self/fd/{}", file);
  return cornu::FileDescriptor(::open(name.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// For files that can't be reopened, such as sockets. Writing a small piece doesn't block if there
// is any room at all.
ssize_t write_where_room_is(int file, std::string_view text) {
  pollfd room{file, POLLOUT, 0};
  if (::poll(&room, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(file, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
}

}  // namespace

Sink::Sink(int file) : file_(file), own_(opened_anew(file)) {}

bool Sink::is_terminal() const { return isatty(file_) == 1; }

bool Sink::write(std::string_view text) {
  kept_ += text;
  return flush();
}

bool Sink::flush() {
  size_t done = 0;
  bool is_open = true;
  while (done < kept_.size()) {
    const std::string_view left = std::string_view(kept_).substr(done);
    const ssize_t count = own_.is_open() ? ::write(own_.get(), left.data(), left.size())
                                         : write_where_room_is(file_, left);
    if (count < 0 && errno == EINTR) continue;
    is_open = count > 0 || (count < 0 && errno == EAGAIN);
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  kept_.erase(0, is_open ? done : kept_.size());
  return is_open;
}

}  // namespace apps
