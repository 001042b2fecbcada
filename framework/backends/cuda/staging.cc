// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/staging.h"

#include <algorithm>
#include <utility>

#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

constexpr size_t kMinBytes = size_t{64} << 10;
constexpr size_t kKeptBytes = size_t{64} << 20;
// With this many fitting blocks in use, wait for the oldest.
constexpr size_t kWaited = 4;
constexpr size_t kWaitedSmall = 20;  // more than there are runs in flight

}  // namespace

StagingPool::Block StagingPool::take(size_t wanted) {
  const size_t bytes = std::max(wanted, kMinBytes);
  Block oldest;
  {
    const std::lock_guard lock(mutex_);
    const auto fits = [&](const Block& one) {
      return one.bytes >= bytes && one.bytes / 2 <= bytes;
    };
    auto found = std::ranges::find_if(
        blocks_, [&](const Block& one) { return fits(one) && runtime_.is_done(*one.free_after); });
    const bool is_free = found != blocks_.end();
    const size_t waited = bytes == kMinBytes ? kWaitedSmall : kWaited;
    if (!is_free && static_cast<size_t>(std::ranges::count_if(blocks_, fits)) >= waited) {
      found = std::ranges::find_if(blocks_, fits);
    }
    if (found != blocks_.end()) {
      oldest = std::move(*found);
      blocks_.erase(found);
      if (is_free) return oldest;
    }
  }
  if (oldest.memory != nullptr) {
    runtime_.synchronize(*oldest.free_after);
    return oldest;
  }
  void* memory = runtime_.allocate_pinned(bytes);
  if (memory == nullptr) {
    release();
    memory = runtime_.allocate_pinned(bytes);
  }
  check<ResourceExhausted>(memory != nullptr,
                           "{}: {} bytes of page-locked memory of the host can't be had.", device_,
                           bytes);
  return {memory, bytes, nullptr};
}

// Only some blocks are kept, as there may be many sizes: the oldest ones are freed.
void StagingPool::give(Block block) {
  std::vector<Block> freed;
  {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(std::move(block));
    size_t kept = 0;
    for (const Block& one : blocks_) kept += one.bytes;
    for (; kept > kKeptBytes; blocks_.erase(blocks_.begin())) {
      kept -= blocks_.front().bytes;
      freed.push_back(std::move(blocks_.front()));
    }
  }
  for (const Block& one : freed) free(one);
}

void StagingPool::release() {
  std::vector<Block> kept;
  {
    const std::lock_guard lock(mutex_);
    kept.swap(blocks_);
  }
  for (const Block& one : kept) free(one);
}

void StagingPool::free(const Block& block) {
  runtime_.synchronize(*block.free_after);
  runtime_.free_pinned(block.memory);
}

}  // namespace cornu::cuda
