// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/memory.h"

#include <new>
#include <utility>

#include "framework/core/per_thread.h"

namespace cornu::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

class ThreadMemory {
 public:
  ~ThreadMemory() { ::operator delete(begin_, kAlignment); }

  std::byte* of(size_t bytes) {
    if (bytes > size_) {
      ::operator delete(std::exchange(begin_, nullptr), kAlignment);
      size_ = 0;
      const size_t wanted = round_up(bytes, size_t{64} << 10);
      begin_ = static_cast<std::byte*>(::operator new(wanted, kAlignment));
      size_ = wanted;
    }
    return begin_;
  }

 private:
  std::byte* begin_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

std::byte* thread_memory(size_t bytes) {
  return per_thread([] { return ThreadMemory(); }).of(bytes);
}

}  // namespace cornu::cpu
