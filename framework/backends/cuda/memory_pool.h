// SPDX-License-Identifier: Apache-2.0
// The memory of one logical GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda {

// Blocks that were given back are given out again at once: whoever takes one uses it on the stream
// on which its last owner did, so that the order of the stream keeps them apart. Thread-safe.
class MemoryPool {
 public:
  // At most `limit` bytes are held; 0: as many as the GPU has. `drain` waits until nothing that was
  // enqueued still uses memory: blocks are returned to the GPU after it alone. Before it, where
  // memory is short, `give_kept` gives what is only kept for later.
  MemoryPool(
      Runtime& runtime, int gpu, std::string name, size_t limit, std::function<void()> drain,
      std::function<void()> give_kept = [] {});

  // Aligned to 256 bytes; at least one byte. ResourceExhausted, naming `what` wants it.
  std::byte* take(size_t bytes, std::string_view what);
  // `bytes`: as they were asked for.
  void give(std::byte* block, size_t bytes);

  struct Usage {
    size_t used = 0;  // by blocks that were taken
    size_t held = 0;  // of the GPU
    size_t peak = 0;  // the most that was used
  };
  Usage usage() const;

 private:
  static constexpr size_t kSlabBytes = size_t{2} << 20;  // small blocks are parts of these
  static constexpr size_t kLargestSmall = kSlabBytes / 4;

  static size_t block_bytes(size_t bytes);
  std::byte* take_free(size_t bytes);
  std::byte* cut_from_slab(size_t bytes);
  std::byte* allocate(size_t bytes);  // null when there is none
  std::byte* take_or_allocate(size_t bytes);
  void release_free();
  [[noreturn]] void fail(size_t bytes, std::string_view what) const;

  Runtime& runtime_;
  int gpu_;
  std::string name_;
  size_t limit_;
  std::function<void()> drain_;
  std::function<void()> give_kept_;
  mutable std::mutex mutex_;  // guards all below
  struct Free {
    std::byte* block;
    uint64_t given;  // blocks that had been given back before
  };
  std::map<size_t, std::vector<Free>> free_;  // by the blocks' sizes
  uint64_t given_ = 0;
  std::byte* slab_ = nullptr;  // what is left of the last one
  size_t slab_left_ = 0;
  Usage usage_;
};

}  // namespace cornu::cuda
