// SPDX-License-Identifier: Apache-2.0
#include "framework/core/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "framework/core/allocation_limit.h"
#include "framework/core/error.h"

namespace cornu {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kCachedBytes = size_t{64} << 20;  // maximum kept for reuse
constexpr size_t kMaxCached = size_t{32} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

thread_local size_t most_bytes = std::numeric_limits<size_t>::max();  // see AllocationLimit

// Eight size classes per power of two: at most an eighth of a block is wasted.
size_t size_class(size_t bytes) {
  bytes = bytes < kAlignment ? kAlignment : bytes;
  const size_t step = std::max(kAlignment, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

// Allocates new memory. Blocks of several huge pages request them from the system: random access to
// rows and streaming over many arrays spend less time on address translation, and fresh memory
// causes only a fraction of the page faults.
std::byte* new_block(size_t bytes) {
  const bool large = bytes >= 2 * kHugePage;
  void* block = nullptr;
  if (posix_memalign(&block, large ? kHugePage : kAlignment, bytes) != 0) return nullptr;
  // Whole huge pages only; a refusal is harmless.
  if (large) madvise(block, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return static_cast<std::byte*>(block);
}

// Free blocks by size class, in lists within the blocks themselves: giving one back, which
// destructors do, needs no memory.
class HostCache {
 public:
  // `bytes` is the size of a class.
  std::byte* take(size_t bytes) {
    if (bytes <= kMaxCached) {
      std::lock_guard lock(mutex_);
      if (Free*& first = list_of(bytes)) {
        Free* const block = std::exchange(first, first->next);
        cached_ -= bytes;
        return reinterpret_cast<std::byte*>(block);
      }
    }
    return new_block(bytes);
  }

  void give(std::byte* block, size_t bytes) {
    if (bytes <= kMaxCached) {
      std::lock_guard lock(mutex_);
      if (cached_ + bytes <= kCachedBytes) {
        Free*& first = list_of(bytes);
        first = new (block) Free{first};
        cached_ += bytes;
        return;
      }
    }
    std::free(block);
  }

  void clear() {
    std::lock_guard lock(mutex_);
    for (Free*& first : free_) {
      while (first) std::free(std::exchange(first, first->next));
    }
    cached_ = 0;
  }

 private:
  struct Free {
    Free* next;
  };

  // Eight lists for each power of two, as size_class() has.
  Free*& list_of(size_t bytes) {
    const auto power = static_cast<size_t>(std::bit_width(bytes)) - 1;
    return free_[power * 8 + (bytes >> (power - 3)) % 8];
  }

  std::mutex mutex_;
  std::array<Free*, std::bit_width(kMaxCached) * 8> free_{};
  size_t cached_ = 0;
};

// Never destroyed: buffers in static objects may be destroyed after any other static object.
HostCache& host_cache() {
  static HostCache* cache = new HostCache;
  return *cache;
}

struct GiveBack {
  size_t capacity = 0;
  void operator()(std::byte* block) const { host_cache().give(block, capacity); }
};
using HostBlock = std::unique_ptr<std::byte, GiveBack>;

class HostBuffer : public Buffer {
 public:
  HostBuffer(HostBlock block, size_t bytes)
      : Buffer(block.get(), bytes, Device{}), block_(std::move(block)) {}

 private:
  HostBlock block_;
};

class WrappedBuffer : public Buffer {
 public:
  WrappedBuffer(void* data, size_t bytes, bool read_only, std::shared_ptr<const void> owner)
      : Buffer(static_cast<std::byte*>(data), bytes, Device{}, read_only),
        owner_(std::move(owner)) {}
  bool is_borrowed() const override { return !owner_ || !read_only(); }

 private:
  std::shared_ptr<const void> owner_;
};

class StringBuffer : public Buffer {
 public:
  explicit StringBuffer(std::unique_ptr<std::string[]> strings, size_t count)
      : Buffer(reinterpret_cast<std::byte*>(strings.get()), count * sizeof(std::string), Device{}),
        strings_(std::move(strings)) {}

  void copy_to_host(size_t offset, std::span<std::byte> to) const override {
    CORNU_ASSERT(offset + to.size(), <=, bytes());
    const std::string* first = strings_.get() + offset / sizeof(std::string);
    std::copy_n(first, to.size() / sizeof(std::string), reinterpret_cast<std::string*>(to.data()));
  }
  std::shared_ptr<Buffer> clone(size_t offset, size_t bytes) const override {
    auto copy = allocate_strings(bytes / sizeof(std::string));
    copy_to_host(offset, {copy->data(), bytes});
    return copy;
  }

 private:
  std::unique_ptr<std::string[]> strings_;
};

}  // namespace

void Buffer::refuse_host() const {
  raise<FailedPrecondition>(
      "Memory on {}: the host can't read or write it. Copy it to the host first, for example with "
      "Tensor::host().",
      device_);
}

void Buffer::copy_to_host(size_t offset, std::span<std::byte> to) const {
  CORNU_ASSERT(offset + to.size(), <=, bytes());
  if (!to.empty()) std::memcpy(to.data(), host() + offset, to.size());
}

std::shared_ptr<Buffer> Buffer::clone(size_t offset, size_t bytes) const {
  auto copy = allocate_host(bytes);
  copy_to_host(offset, {copy->data(), bytes});
  return copy;
}

AllocationLimit::AllocationLimit(size_t bytes) : outer_(most_bytes) {
  most_bytes = std::min(most_bytes, bytes);
}

AllocationLimit::~AllocationLimit() { most_bytes = outer_; }

void AllocationLimit::check_bytes(size_t bytes) {
  check<ResourceExhausted>(
      bytes <= most_bytes,
      "expected a tensor of at most {} bytes, which is the limit here, got one "
      "of {} bytes.",
      most_bytes, bytes);
}

std::shared_ptr<Buffer> allocate_host(size_t bytes) {
  AllocationLimit::check_bytes(bytes);
  constexpr size_t kMax = size_t{1} << 62;
  HostBlock block;
  if (bytes < kMax) {
    const size_t capacity = size_class(bytes);
    block = HostBlock(host_cache().take(capacity), {capacity});
  }
  check<ResourceExhausted>(block != nullptr,
                           "Out of memory: {} bytes of host memory were asked for.", bytes);
  return std::make_shared<HostBuffer>(std::move(block), bytes);
}

std::shared_ptr<Buffer> allocate_strings(size_t count) {
  constexpr size_t kMax = (size_t{1} << 62) / sizeof(std::string);
  std::unique_ptr<std::string[]> strings(count < kMax ? new (std::nothrow) std::string[count]
                                                      : nullptr);
  check<ResourceExhausted>(strings != nullptr, "Out of memory: {} strings were asked for.", count);
  return std::make_shared<StringBuffer>(std::move(strings), count);
}

std::shared_ptr<Buffer> wrap_host(void* data, size_t bytes, std::shared_ptr<const void> owner) {
  return std::make_shared<WrappedBuffer>(data, bytes, false, std::move(owner));
}

std::shared_ptr<Buffer> wrap_host(const void* data, size_t bytes,
                                  std::shared_ptr<const void> owner) {
  return std::make_shared<WrappedBuffer>(const_cast<void*>(data), bytes, true, std::move(owner));
}

void release_cached_host_memory() { host_cache().clear(); }

}  // namespace cornu
