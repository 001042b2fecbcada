// SPDX-License-Identifier: Apache-2.0
// Switching stacks saves the callee-saved registers and restores those saved on the other stack.
// swapcontext would do the same, but with a system call each time.
#include "tests/support/cuda/fiber.h"

#include <sys/mman.h>

#include <cstdint>

#include "framework/core/error.h"

extern "C" void cornu_change_stack(void** save, void* load);

#if defined(__x86_64__)
asm(R"(
.text
.globl cornu_change_stack
.hidden cornu_change_stack
.type cornu_change_stack, @function
cornu_change_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cornu_change_stack, .-cornu_change_stack
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl cornu_change_stack
.hidden cornu_change_stack
.type cornu_change_stack, %function
cornu_change_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size cornu_change_stack, .-cornu_change_stack
)");
#else
#error "The simulator of GPUs runs on x86-64 and on aarch64."
#endif

namespace cornu::cuda::simulated {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;
constexpr size_t kGuardBytes = size_t{64} << 10;  // a page, however large pages are

#if defined(__x86_64__)
constexpr size_t kSavedWords = 6;
constexpr size_t kReturnWord = 6;
constexpr size_t kFrameWords = 8;  // at function entry, the stack is 8 bytes off 16-byte alignment
#else
constexpr size_t kSavedWords = 20;
constexpr size_t kReturnWord = 11;
constexpr size_t kFrameWords = 20;
#endif
static_assert(kReturnWord < kFrameWords && kSavedWords <= kFrameWords);

}  // namespace

Fiber::Fiber() {
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check<Internal>(memory != MAP_FAILED && mprotect(memory, kGuardBytes, PROT_NONE) == 0,
                  "Simulator: there is no memory for a thread's stack.");
  memory_ = static_cast<std::byte*>(memory);
}

Fiber::~Fiber() { munmap(memory_, kGuardBytes + kStackBytes); }

void Fiber::start(void (*body)()) {
  auto* frame = reinterpret_cast<uintptr_t*>(memory_ + kGuardBytes + kStackBytes) - kFrameWords - 2;
  for (size_t i = 0; i < kFrameWords; ++i) frame[i] = 0;
  frame[kReturnWord] = reinterpret_cast<uintptr_t>(body);
  own_ = frame;
}

void Fiber::enter() { cornu_change_stack(&back_, own_); }

void Fiber::leave() { cornu_change_stack(&own_, back_); }

}  // namespace cornu::cuda::simulated
