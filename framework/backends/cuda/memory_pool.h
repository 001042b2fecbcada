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

// Freed blocks are reused immediately: the new owner uses them on the same stream as the last
// owner, so the order of the stream keeps the uses apart. Thread-safe.
class MemoryPool {
 public:
  // Holds at most `limit` bytes; 0: as many as the GPU has. `drain` waits until enqueued work no
  // longer uses memory: blocks are only returned to the GPU after it. When memory is short,
  // `give_kept` is called first, to release what is only kept for later.
  MemoryPool(
      Runtime& runtime, int gpu, std::string name, size_t limit, std::function<void()> drain,
      std::function<void()> give_kept = [] {});

  // Returns at least one byte, aligned to 256 bytes. Throws ResourceExhausted, naming `what` the
  // memory is for.
  std::byte* take(size_t bytes, std::string_view what);
  // `bytes`: the size that was requested.
  void give(std::byte* block, size_t bytes);

  // Returns to the GPU what is free or only kept, for others that need memory.
  void release();

  struct Usage {
    size_t used = 0;  // by blocks in use
    size_t held = 0;  // GPU memory held by the pool
    size_t peak = 0;  // maximum of `used`
  };
  Usage usage() const;

 private:
  static constexpr size_t kSlabBytes = size_t{2} << 20;  // small blocks are parts of slabs
  static constexpr size_t kMaxSmall = kSlabBytes / 4;

  static size_t block_bytes(size_t bytes);
  std::byte* take_free(size_t bytes);
  std::byte* cut_from_slab(size_t bytes);
  std::byte* allocate(size_t bytes);  // returns null when there is none
  std::byte* take_or_allocate(size_t bytes);
  void release_free();
  [[noreturn]] void fail(size_t bytes, std::string_view what) const;

  Runtime& runtime_;
  int gpu_;
  std::string name_;
  size_t limit_;
  std::function<void()> drain_;
  std::function<void()> give_kept_;
  mutable std::mutex mutex_;  // guards all members below
  struct Free {
    std::byte* block;
    uint64_t given;  // number of blocks freed before this one
  };
  std::map<size_t, std::vector<Free>> free_;  // by block size
  uint64_t given_ = 0;
  std::byte* slab_ = nullptr;  // the rest of the last one
  size_t slab_left_ = 0;
  Usage usage_;
};

}  // namespace cornu::cuda
