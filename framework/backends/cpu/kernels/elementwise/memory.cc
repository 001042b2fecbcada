// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/memory.h"

#include <memory>
#include <new>

namespace cornu::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Deleter {
  void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
};

}  // namespace

std::byte* thread_memory(size_t bytes) {
  thread_local std::unique_ptr<std::byte, Deleter> memory;
  thread_local size_t size = 0;
  if (bytes > size) {
    memory.reset();
    size = 0;
    const size_t wanted = round_up(bytes, size_t{64} << 10);
    memory.reset(static_cast<std::byte*>(::operator new(wanted, kAlignment)));
    size = wanted;
  }
  return memory.get();
}

}  // namespace cornu::cpu
