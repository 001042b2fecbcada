// SPDX-License-Identifier: Apache-2.0
// Memory of simulated devices: an in-memory file that is mapped twice. The addresses handed out
// belong to a mapping that can't be read or written; the devices' own code uses the other mapping.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "framework/core/error.h"

namespace cornu::test {

class GuardedHeap {
 public:
  GuardedHeap() : file_(memfd_create("cornu_guarded_heap", MFD_CLOEXEC)) {
    check<Internal>(file_ >= 0 && ftruncate(file_, kBytes) == 0,
                    "Guarded device: memfd_create failed.");
    guarded_ = map(PROT_NONE);
    open_ = map(PROT_READ | PROT_WRITE);
  }

  // Returns an address that can't be read, aligned to 256 bytes.
  std::byte* take(size_t bytes) {
    const size_t size = rounded(bytes);
    const std::lock_guard lock(mutex_);
    if (auto& blocks = free_[size]; !blocks.empty()) {
      std::byte* block = blocks.back();
      blocks.pop_back();
      return block;
    }
    check<ResourceExhausted>(size <= kBytes - used_,
                             "Out of memory: {} bytes of a guarded device's memory were asked for.",
                             bytes);
    return guarded_ + std::exchange(used_, used_ + size);
  }

  void give(std::byte* block, size_t bytes) {
    const size_t size = rounded(bytes);
    if (size >= kLargeBlock) {
      fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, block - guarded_,
                static_cast<off_t>(size));
    }
    const std::lock_guard lock(mutex_);
    free_[size].push_back(block);
  }

  bool contains(const void* address) const {
    const auto* byte = static_cast<const std::byte*>(address);
    return !std::less<>()(byte, guarded_) && std::less<>()(byte, guarded_ + kBytes);
  }

  // Translates such an address into one that the device's own code can access.
  std::byte* open(const std::byte* guarded) const { return open_ + (guarded - guarded_); }

 private:
  static constexpr size_t kBytes = size_t{32} << 30;  // of addresses: pages are allocated on write
  static constexpr size_t kLargeBlock = size_t{1} << 20;  // larger free blocks return their pages

  static size_t rounded(size_t bytes) {
    const size_t unit = bytes >= kLargeBlock ? size_t{1} << 16 : 256;
    return std::max<size_t>(1, (bytes + unit - 1) / unit) * unit;
  }

  std::byte* map(int rights) const {
    void* start = mmap(nullptr, kBytes, rights, MAP_SHARED | MAP_NORESERVE, file_, 0);
    check<Internal>(start != MAP_FAILED, "Guarded device: mmap failed.");
    return static_cast<std::byte*>(start);
  }

  int file_;
  std::byte* guarded_ = nullptr;
  std::byte* open_ = nullptr;
  std::mutex mutex_;
  std::map<size_t, std::vector<std::byte*>> free_;
  size_t used_ = 0;
};

}  // namespace cornu::test
