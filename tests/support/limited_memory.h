// SPDX-License-Identifier: Apache-2.0
// Makes operator new fail. A test program that includes this has limited_memory.cc among its
// sources, which replaces operator new.
#pragma once

namespace cornu::test {

inline constexpr int kUnlimited = -1;

// While an object of this class exists, its thread can make at most this many allocations.
class LimitedMemory {
 public:
  explicit LimitedMemory(int pieces);
  ~LimitedMemory();
  LimitedMemory(const LimitedMemory&) = delete;
  LimitedMemory& operator=(const LimitedMemory&) = delete;
};

// While an object of this class exists, no thread can allocate.
class NoMemory {
 public:
  NoMemory();
  ~NoMemory();
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

}  // namespace cornu::test
