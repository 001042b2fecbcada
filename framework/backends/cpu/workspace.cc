// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/workspace.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <vector>

namespace cornu::cpu {
namespace {

using HeldBlock = std::shared_ptr<Buffer>;

struct BlockPool {
  std::mutex mutex;
  std::vector<HeldBlock> free;    // most recently used last
  std::multiset<size_t> demands;  // of the existing programs
  size_t held = 0;

  // Removes and returns a free block that is large enough; else one that is too small, to be
  // replaced; else returns null.
  HeldBlock take(size_t bytes) {
    if (free.empty()) return nullptr;
    auto found = std::find_if(free.rbegin(), free.rend(),
                              [&](const HeldBlock& block) { return block->bytes() >= bytes; });
    auto chosen = found == free.rend() ? free.end() - 1 : found.base() - 1;
    HeldBlock block = std::move(*chosen);
    free.erase(chosen);
    return block;
  }

  size_t largest_demand() const { return demands.empty() ? 0 : *demands.rbegin(); }

  void trim() {
    const size_t most = largest_demand();
    std::erase_if(free, [&](const HeldBlock& block) {
      if (block->bytes() <= most) return false;
      held -= block->bytes();
      return true;
    });
  }
};

// Never destroyed: programs may run in static destructors.
BlockPool& block_pool() {
  static auto* block_pool = new BlockPool;
  return *block_pool;
}

}  // namespace

Workspace::Workspace(size_t bytes) {
  if (bytes == 0) return;
  {
    const std::lock_guard lock(block_pool().mutex);
    block_ = block_pool().take(bytes);
    if (block_ && block_->bytes() >= bytes) return;
    if (block_) block_pool().held -= block_->bytes();
  }
  block_.reset();
  block_ = allocate_host(bytes);
  const std::lock_guard lock(block_pool().mutex);
  block_pool().held += block_->bytes();
}

Workspace::~Workspace() {
  if (!block_) return;
  const std::lock_guard lock(block_pool().mutex);
  if (block_->bytes() > block_pool().largest_demand()) {
    block_pool().held -= block_->bytes();
  } else {
    block_pool().free.push_back(std::move(block_));
  }
}

WorkspaceDemand::WorkspaceDemand(size_t bytes) : bytes_(bytes) {
  const std::lock_guard lock(block_pool().mutex);
  block_pool().demands.insert(bytes);
}

WorkspaceDemand::~WorkspaceDemand() {
  const std::lock_guard lock(block_pool().mutex);
  block_pool().demands.erase(block_pool().demands.find(bytes_));
  block_pool().trim();
}

size_t workspace_bytes_held() {
  const std::lock_guard lock(block_pool().mutex);
  return block_pool().held;
}

}  // namespace cornu::cpu
