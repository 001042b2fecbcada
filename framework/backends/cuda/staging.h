// SPDX-License-Identifier: Apache-2.0
// Page-locked memory of the host, through which arrays are copied to a GPU.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda {

// Keeps blocks for further copies. May be used by several threads; never holds its lock while it
// waits or takes another one.
class StagingPool {
 public:
  struct Block {
    void* memory = nullptr;
    size_t bytes = 0;
    std::shared_ptr<RuntimeEvent> free_after;  // recorded behind the last copy
  };

  StagingPool(Runtime& runtime, std::string device)
      : runtime_(runtime), device_(std::move(device)) {}

  // Larger arrays are copied in pieces of this size: page-locked memory can't be paged out, and it
  // takes long to get.
  static constexpr size_t kMaxBytes = size_t{8} << 20;

  // Returns a block of at least this size that no copy uses. If several fitting ones are in use, it
  // is the oldest of them, once its copy has ended. Throws ResourceExhausted, naming the device.
  Block take(size_t bytes);
  // Takes back a block whose free_after is set.
  void give(Block block);

 private:
  void release();
  void free(const Block& block);

  Runtime& runtime_;
  std::string device_;
  std::mutex mutex_;
  std::vector<Block> blocks_;  // oldest first
};

}  // namespace cornu::cuda
