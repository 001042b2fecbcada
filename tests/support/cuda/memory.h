// SPDX-License-Identifier: Apache-2.0
// The memory of simulated GPUs, and page-locked memory of the host.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cornu::cuda::simulated {

struct MemoryRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool contains(const std::byte* first, size_t bytes) const {
    return begin <= first && first + bytes <= end;
  }
};

// Not thread-safe: guarded by the runtime's lock.
class Memory {
 public:
  Memory(int gpus, size_t bytes_each, size_t pinned_bytes)
      : bytes_each_(bytes_each), pinned_free_(pinned_bytes), used_(static_cast<size_t>(gpus)) {}

  // Returns null when the GPU is out of memory. The host can't read these addresses; see open().
  void* allocate(int gpu, size_t bytes);
  void free(int gpu, void* memory);
  size_t free_bytes(int gpu) const { return bytes_each_ - used_[static_cast<size_t>(gpu)]; }

  void* allocate_pinned(size_t bytes);  // null when there is no more
  void free_pinned(void* memory);
  // Returns the page-locked block that contains this address, or null when there is none.
  const void* pinned_block_of(const void* address) const;

  // Whether the address is within a GPU's memory, allocated or not.
  static bool is_of_gpu(const void* address);
  // Returns the start of the allocation that contains this GPU address. Throws Internal, naming
  // `what`, when there is none, or when fewer than `bytes` bytes follow the address.
  void* allocation_of(const void* address, size_t bytes, const std::string& what) const;
  // Translates a GPU address into one that the simulator can access. Other addresses are returned
  // unchanged.
  static std::byte* open(const void* address);
  // Whether it is such a translated address.
  static bool is_opened(const void* address);
  // Returns the allocation that begins at this GPU address, translated.
  MemoryRange opened(const void* allocation) const;

 private:
  struct Block {
    size_t bytes = 0;
    int gpu = 0;
  };
  using Blocks = std::map<const std::byte*, Block>;
  static Blocks::const_iterator find(const Blocks& blocks, const void* address);

  size_t bytes_each_;
  size_t pinned_free_;
  std::vector<size_t> used_;  // per GPU
  Blocks blocks_;
  Blocks pinned_;
};

}  // namespace cornu::cuda::simulated
