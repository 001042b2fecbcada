// SPDX-License-Identifier: Apache-2.0
// A disk that fails on request. The test program is linked with --wrap, so that the library's calls
// of open, read, write, fsync, rename, link and flock come here first.
#pragma once

#include <cstdint>

namespace cornu::faults {

// During its lifetime, calls are counted from 0, across all threads, and some of them fail.
class FaultyDisk {
 public:
  // Makes `count` calls fail with `error`, from call `first` on.
  FaultyDisk(int error, int64_t first, int64_t count = 1);
  // No call fails, but each write takes at most 5 bytes, and every other one returns with EINTR.
  static FaultyDisk slow() { return FaultyDisk(0, 0, 0); }
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  int64_t calls() const;  // so far
};

}  // namespace cornu::faults
