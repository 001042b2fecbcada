// SPDX-License-Identifier: Apache-2.0
// Finds accesses of a kernel that a GPU would punish, but running its threads one after another
// doesn't: by several threads to the same bytes, of which one writes, without a barrier in between;
// outside of the arrays that the launch was given; and at misaligned addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/support/cuda/memory.h"

namespace cornu::cuda::simulated {

// Not thread-safe. Takes note of the first fault of each launch. Threads of a block are numbered;
// 32 adjacent ones form a warp. Shuffles are no barriers. Several threads may write the same value.
class AccessCheck {
 public:
  struct Access {
    const void* address = nullptr;
    size_t bytes = 0;
    bool writes = false;
    const void* code = nullptr;  // address in the kernel's library
  };

  // `arrays`: the GPU memory that the kernel may access.
  void begin_launch(std::vector<MemoryRange> arrays);
  // `shared`: the parts of the block's shared memory.
  void begin_block(std::span<const MemoryRange> shared);
  void sync_block();
  void sync_warp(size_t warp);
  // Called before the access.
  void access(size_t thread, const Access& access);
  // Called when the code in this line expects an address to be a multiple of `alignment`, but it
  // isn't.
  void misaligned(size_t thread, int line, size_t alignment);
  // Returns what is wrong with the launch; nullopt: nothing.
  std::optional<std::string> end_launch();

 private:
  // When and by which thread a byte was accessed.
  struct Mark {
    uint32_t phase = 0;
    uint16_t thread = 0;
    uint16_t warp_phase = 0;
  };
  struct Byte {
    Mark write;
    Mark reads[2];
  };
  static constexpr size_t kPage = 4096;
  using Page = std::array<Byte, kPage>;
  struct Suspect {  // a write that is a fault if it changes something
    const std::byte* at = nullptr;
    std::vector<std::byte> before;
    std::string fault;
  };

  Byte& byte_at(const std::byte* address);
  bool collides(const Mark& before, const Mark& now, bool is_shared) const;
  void note_access(const Access& access, const Mark& now, bool is_shared);
  std::string collision(const Access& access, const Mark& now, const Mark& before,
                        bool was_write) const;
  void note(std::string fault);
  void settle();

  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages_;
  uintptr_t last_number_ = 0;  // of the page found last
  Page* last_ = nullptr;
  std::vector<MemoryRange> arrays_;
  std::vector<MemoryRange> shared_;
  std::array<uint16_t, 32> warp_phases_ = {};
  uint32_t launch_ = 1;  // the first phase of the launch
  uint32_t block_ = 1;   // the first phase of the block
  uint32_t phase_ = 1;   // the next one begins at a barrier
  std::optional<Suspect> suspect_;
  std::optional<std::string> fault_;
};

}  // namespace cornu::cuda::simulated
