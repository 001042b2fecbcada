// SPDX-License-Identifier: Apache-2.0
#include "tests/support/limited_memory.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace cornu::test {
namespace {

thread_local int left = kUnlimited;  // allocations left for this thread
std::atomic<bool> none = false;      // left for any thread

bool is_refused() {
  if (none) return true;
  if (left == kUnlimited) return false;
  return left == 0 || left-- == 0;
}

}  // namespace

LimitedMemory::LimitedMemory(int pieces) { left = pieces; }
LimitedMemory::~LimitedMemory() { left = kUnlimited; }

NoMemory::NoMemory() { none = true; }
NoMemory::~NoMemory() { none = false; }

}  // namespace cornu::test

// Not inlined: g++ would warn that memory from new is passed to free.
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return cornu::test::is_refused() ? nullptr : std::malloc(bytes ? bytes : 1);
}
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* memory = operator new(bytes, std::nothrow);
  if (!memory) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
