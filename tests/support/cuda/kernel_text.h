// SPDX-License-Identifier: Apache-2.0
// What stands before and after a kernel's text, so that a C++ compiler of the host takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cornu::cuda::simulated {

// A kernel's built-in variables, and what it calls. kernel_text.cc declares the same.
struct KernelState {
  struct Index {
    uint32_t x, y, z;
  };
  Index thread;
  Index block;
  Index block_size;
  Index grid_size;
  char* dynamic_shared;
  // Barriers, with the line of the text where they stand.
  void (*sync_block)(int line);
  void (*sync_warp)(int line);
  // Gives every thread of a warp the values of its 32 threads.
  const uint64_t* (*exchange)(uint64_t value, int line);
};

// What the function `cornu_exports` of a compiled kernel gives.
struct KernelExports {
  KernelState* state;
  uint64_t parameter_words;             // of 8 bytes
  void (*call)(const uint64_t* words);  // runs the current thread
  char* shared_begin;                   // the block's shared memory
  char* shared_end;
};

// The whole text for a kernel's.
std::string host_text(std::string_view name, std::string_view text);

// Whether its threads wait for each other.
bool has_barriers(std::string_view text);

}  // namespace cornu::cuda::simulated
