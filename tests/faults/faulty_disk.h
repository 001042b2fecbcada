// SPDX-License-Identifier: Apache-2.0
// A disk that fails when a test wants it to. The test program is linked with --wrap: the library's
// calls of open, read, write, fsync, rename, link and flock come here first.
#pragma once

#include <cstdint>

namespace cornu::faults {

// While one lives, calls are counted, from 0, on all threads, and some of them fail.
class FaultyDisk {
 public:
  // The calls from `first` on fail with `error`, `count` of them.
  FaultyDisk(int error, int64_t first, int64_t count = 1);
  // No call fails, but each write takes 5 bytes at most, and comes back with EINTR every other
  // time.
  static FaultyDisk slow() { return FaultyDisk(0, 0, 0); }
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  int64_t calls() const;  // so far
};

}  // namespace cornu::faults
