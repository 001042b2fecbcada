// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/faulty_disk.h"

#include <fcntl.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>

namespace cornu::faults {
namespace {

constexpr size_t kSlowBytes = 5;

std::atomic<bool> armed{false};
std::atomic<int64_t> made{0};
int wanted_error = 0;
int64_t first_call = 0;
int64_t call_count = 0;

// Returns whether this call fails, and sets errno if so.
bool fails() {
  if (!armed) return false;
  const int64_t call = made++;
  if (wanted_error == 0 || call < first_call || call - first_call >= call_count) return false;
  errno = wanted_error;
  return true;
}

}  // namespace

FaultyDisk::FaultyDisk(int error, int64_t first, int64_t count) {
  wanted_error = error;
  first_call = first;
  call_count = count;
  made = 0;
  armed = true;
}
FaultyDisk::~FaultyDisk() { armed = false; }
int64_t FaultyDisk::calls() const { return made; }

}  // namespace cornu::faults

using cornu::faults::fails;

extern "C" {

int __real_open(const char* path, int flags, ...);
ssize_t __real_read(int file, void* data, size_t bytes);
ssize_t __real_write(int file, const void* data, size_t bytes);
int __real_fsync(int file);
int __real_rename(const char* from, const char* to);
int __real_link(const char* from, const char* to);
int __real_flock(int file, int operation);

int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  return fails() ? -1 : __real_open(path, flags, mode);
}
ssize_t __wrap_read(int file, void* data, size_t bytes) {
  return fails() ? -1 : __real_read(file, data, bytes);
}
ssize_t __wrap_write(int file, const void* data, size_t bytes) {
  if (fails()) return -1;
  using namespace cornu::faults;
  if (!armed || wanted_error != 0) return __real_write(file, data, bytes);
  if (made % 2 == 0) return errno = EINTR, -1;
  return __real_write(file, data, std::min(bytes, kSlowBytes));
}
int __wrap_fsync(int file) { return fails() ? -1 : __real_fsync(file); }
int __wrap_rename(const char* from, const char* to) {
  return fails() ? -1 : __real_rename(from, to);
}
int __wrap_link(const char* from, const char* to) { return fails() ? -1 : __real_link(from, to); }
int __wrap_flock(int file, int operation) { return fails() ? -1 : __real_flock(file, operation); }
}
