// SPDX-License-Identifier: Apache-2.0
// The text put before and after a kernel's own text so that the host's C++ compiler accepts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cornu::cuda::simulated {

// A kernel's built-in variables and the functions it calls. kernel_text.cc has the same
// declarations.
struct KernelState {
  struct Index {
    uint32_t x, y, z;
  };
  Index thread;
  Index block;
  Index block_size;
  Index grid_size;
  char* dynamic_shared;
  // Barriers; `line` is the line of the kernel's text that they are on.
  void (*sync_block)(int line);
  void (*sync_warp)(int line);
  // Returns to every thread of a warp the values of its 32 threads.
  const uint64_t* (*exchange)(uint64_t value, int line);
  // Called by kernels that are compiled for checks: before each access (AccessCheck::Access), and
  // when an address isn't a multiple of `alignment` in this line.
  void (*access)(const void* address, size_t bytes, bool writes, const void* code);
  void (*misaligned)(int line, size_t alignment);
};

// Returned by the function `cornu_exports` of a compiled kernel.
struct KernelExports {
  KernelState* state;
  uint64_t parameter_words;             // of 8 bytes
  uint64_t most_threads;                // of a block
  void (*call)(const uint64_t* words);  // runs the current thread
  char* shared_begin;                   // the block's shared memory
  char* shared_end;
};

// Returns the complete text to compile for a kernel's text.
std::string host_text(std::string_view name, std::string_view text);

// Whether the kernel's threads synchronize with each other.
bool has_barriers(std::string_view text);

}  // namespace cornu::cuda::simulated
