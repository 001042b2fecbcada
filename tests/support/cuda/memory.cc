// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/memory.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "framework/core/error.h"
#include "tests/support/device/guarded_heap.h"

namespace cornu::cuda::simulated {
namespace {

constexpr int kRubbish = 0xCD;

std::atomic<const std::byte*> any_block = nullptr;

test::GuardedHeap& heap() {
  static auto* heap = new test::GuardedHeap;
  return *heap;
}

}  // namespace

void* Memory::allocate(int gpu, size_t bytes) {
  if (bytes > free_bytes(gpu)) return nullptr;
  std::byte* block = heap().take(bytes);
  any_block = block;
  std::memset(heap().open(block), kRubbish, bytes);
  used_[static_cast<size_t>(gpu)] += bytes;
  blocks_[block] = {bytes, gpu};
  return block;
}

void Memory::free(int gpu, void* memory) {
  const auto it = blocks_.find(static_cast<std::byte*>(memory));
  check<Internal>(it != blocks_.end() && it->second.gpu == gpu,
                  "Memory that GPU {} doesn't have is freed.", gpu);
  used_[static_cast<size_t>(gpu)] -= it->second.bytes;
  heap().give(static_cast<std::byte*>(memory), it->second.bytes);
  blocks_.erase(it);
}

void* Memory::allocate_pinned(size_t bytes) {
  if (bytes > pinned_free_) return nullptr;
  auto* memory = static_cast<std::byte*>(std::malloc(std::max<size_t>(bytes, 1)));
  check<ResourceExhausted>(memory != nullptr, "Out of memory: {} bytes were asked for.", bytes);
  std::memset(memory, kRubbish, bytes);
  pinned_free_ -= bytes;
  pinned_[memory] = {bytes, 0};
  return memory;
}

void Memory::free_pinned(void* memory) {
  const auto it = pinned_.find(static_cast<std::byte*>(memory));
  check<Internal>(it != pinned_.end(), "Page-locked memory is freed that nobody has allocated.");
  pinned_free_ += it->second.bytes;
  pinned_.erase(it);
  std::free(memory);
}

const void* Memory::pinned_block_of(const void* address) const {
  const auto it = find(pinned_, address);
  return it == pinned_.end() ? nullptr : it->first;
}

bool Memory::is_of_gpu(const void* address) { return heap().contains(address); }

void* Memory::allocation_of(const void* address, size_t bytes, const std::string& what) const {
  const auto it = find(blocks_, address);
  check<Internal>(it != blocks_.end(), "{}: an address isn't in allocated memory of a GPU.", what);
  const auto* end = it->first + it->second.bytes;
  check<Internal>(bytes <= static_cast<size_t>(end - static_cast<const std::byte*>(address)),
                  "{}: {} bytes are more than the memory has from that address on.", what, bytes);
  return const_cast<std::byte*>(it->first);
}

std::byte* Memory::open(const void* address) {
  auto* byte = static_cast<std::byte*>(const_cast<void*>(address));
  return heap().contains(address) ? heap().open(byte) : byte;
}

bool Memory::is_opened(const void* address) {
  const std::byte* const any = any_block.load();
  if (any == nullptr) return false;
  return heap().contains(static_cast<const std::byte*>(address) - (heap().open(any) - any));
}

MemoryRange Memory::opened(const void* allocation) const {
  const std::byte* const begin = open(allocation);
  return {begin, begin + blocks_.at(static_cast<const std::byte*>(allocation)).bytes};
}

// Returns the block that contains the address; one past the end counts, as for an array without
// elements.
Memory::Blocks::const_iterator Memory::find(const Blocks& blocks, const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  auto it = blocks.upper_bound(byte);
  if (it == blocks.begin()) return blocks.end();
  --it;
  return byte <= it->first + it->second.bytes ? it : blocks.end();
}

}  // namespace cornu::cuda::simulated
