// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/memory_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

constexpr size_t kUnit = 256;
constexpr size_t kHeldUnit = size_t{2} << 20;  // granularity of CUDA's allocations

size_t held_bytes(size_t bytes) { return (bytes + kHeldUnit - 1) / kHeldUnit * kHeldUnit; }

std::string in_words(size_t bytes) {
  constexpr double kMebi = 1024.0 * 1024.0;
  if (bytes < size_t{1} << 20) return fmt::format("{} bytes", bytes);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMebi);
}

}  // namespace

MemoryPool::MemoryPool(Runtime& runtime, int gpu, std::string name, size_t limit,
                       std::function<void()> drain, std::function<void()> give_kept)
    : runtime_(runtime),
      gpu_(gpu),
      name_(std::move(name)),
      limit_(limit),
      drain_(std::move(drain)),
      give_kept_(std::move(give_kept)) {}

// Eight sizes per power of two: at most an eighth of a block is wasted.
size_t MemoryPool::block_bytes(size_t bytes) {
  const size_t step = std::max(kUnit, std::bit_floor(std::max(bytes, kUnit)) / 8);
  return std::max(bytes + step - 1, step) / step * step;
}

std::byte* MemoryPool::take(size_t bytes, std::string_view what) {
  const size_t size = block_bytes(bytes);
  std::byte* block = take_or_allocate(size);
  if (!block) {
    release();
    block = take_or_allocate(size);
  }
  if (!block) fail(bytes, what);
  return block;
}

void MemoryPool::release() {
  give_kept_();
  release_free();
}

std::byte* MemoryPool::take_or_allocate(size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::byte* block = take_free(bytes);
  if (!block) block = bytes <= kMaxSmall ? cut_from_slab(bytes) : allocate(bytes);
  if (!block) return nullptr;
  usage_.used += bytes;
  usage_.peak = std::max(usage_.peak, usage_.used);
  return block;
}

void MemoryPool::give(std::byte* block, size_t bytes) {
  const size_t size = block_bytes(bytes);
  const std::lock_guard lock(mutex_);
  free_[size].push_back({block, given_++});
  usage_.used -= size;
}

MemoryPool::Usage MemoryPool::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

std::byte* MemoryPool::take_free(size_t bytes) {
  const auto found = free_.find(bytes);
  if (found == free_.end() || found->second.empty()) return nullptr;
  std::byte* block = found->second.back().block;
  found->second.pop_back();
  return block;
}

std::byte* MemoryPool::cut_from_slab(size_t bytes) {
  if (slab_left_ < bytes) {
    std::byte* slab = allocate(kSlabBytes);
    if (!slab) return nullptr;
    slab_ = slab;
    slab_left_ = kSlabBytes;
  }
  std::byte* block = slab_;
  slab_ += bytes;
  slab_left_ -= bytes;
  return block;
}

std::byte* MemoryPool::allocate(size_t bytes) {
  if (limit_ > 0 && usage_.held + held_bytes(bytes) > limit_) return nullptr;
  auto* block = static_cast<std::byte*>(runtime_.allocate(gpu_, bytes));
  if (block) usage_.held += held_bytes(bytes);
  return block;
}

// Returns blocks to the GPU that are free now and still are once enqueued work has ended; parts of
// slabs stay, since they are small. No lock is held meanwhile: threads that enqueue the work may
// need memory.
void MemoryPool::release_free() {
  const uint64_t known = [&] {
    const std::lock_guard lock(mutex_);
    return given_;
  }();
  drain_();
  const std::lock_guard lock(mutex_);
  for (auto& [bytes, blocks] : free_) {
    if (bytes <= kMaxSmall) continue;
    for (const Free& one : blocks) {
      if (one.given >= known) continue;
      runtime_.free(gpu_, one.block);
      usage_.held -= held_bytes(bytes);
    }
    std::erase_if(blocks, [&](const Free& one) { return one.given < known; });
  }
}

void MemoryPool::fail(size_t bytes, std::string_view what) const {
  const Usage now = usage();
  const std::string limit = limit_ > 0 ? fmt::format("of a limit of {}", in_words(limit_))
                                       : fmt::format("of {}, of which {} are free",
                                                     in_words(runtime_.facts(gpu_).memory_bytes),
                                                     in_words(runtime_.free_bytes(gpu_)));
  raise<ResourceExhausted>(
      "{}: out of memory: {} needs {}; {} are in use here and {} held, {}. Use smaller batches, a "
      "smaller model or mixed precision.",
      name_, what, in_words(bytes), in_words(now.used), in_words(now.held), limit);
}

}  // namespace cornu::cuda
