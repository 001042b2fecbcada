// SPDX-License-Identifier: Apache-2.0
// Runs the grid of a kernel on the calling thread, one block after another. If the threads of a
// block synchronize with each other, each gets its own stack and runs up to its next barrier.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/backends/cuda/runtime.h"
#include "tests/support/cuda/access_check.h"
#include "tests/support/cuda/fiber.h"
#include "tests/support/cuda/kernel_compiler.h"

namespace cornu::cuda::simulated {

struct GridLaunch {
  Dim3 grid;
  Dim3 block;
  uint32_t shared_bytes = 0;
  std::vector<uint64_t> words;      // the parameters, back to back
  std::vector<MemoryRange> arrays;  // that may be accessed, for checked kernels
};

// Not thread-safe: used by one thread at a time.
class BlockRunner {
 public:
  BlockRunner();

  // Runs blocks and threads in ascending order or, if `backwards`, in descending order. Throws
  // Internal, naming the barriers, when some threads wait for others that never arrive, and with
  // what AccessCheck finds.
  void run(const CompiledKernel& kernel, const GridLaunch& launch, bool backwards);

 private:
  enum class State : uint8_t { Ready, AtBlock, AtWarp, AtExchange, Done };
  struct Thread {
    KernelState::Index index = {};
    State state = State::Ready;
    uint8_t round = 0;  // number of exchanges so far; two successive rounds use separate slots
    int line = 0;       // of the barrier that it waits at
    std::unique_ptr<Fiber> fiber;
  };
  struct Exchange {
    uint64_t values[2][32];
  };

  static void begin_thread();
  static void sync_block(int line) { current_->wait(State::AtBlock, line); }
  static void sync_warp(int line) { current_->wait(State::AtWarp, line); }
  static const uint64_t* exchange(uint64_t value, int line);
  static void access(const void* address, size_t bytes, bool writes, const void* code) {
    current_->check_.access(current_->running_, {address, bytes, writes, code});
  }
  static void misaligned(int line, size_t alignment) {
    current_->check_.misaligned(current_->running_, line, alignment);
  }

  void check_launch() const;
  void run_in_turn();
  void run_with_barriers();
  void start_block();
  void run_ready_threads();
  bool release_warps();
  bool release_block();
  void meet(size_t first, size_t last, State state);
  void wait(State state, int line);
  [[noreturn]] void fail() const;
  template <class F>
  void for_each_thread(const F& f);

  static BlockRunner* current_;

  const CompiledKernel* kernel_ = nullptr;
  const GridLaunch* launch_ = nullptr;
  bool backwards_ = false;
  size_t count_ = 0;  // threads per block
  size_t running_ = 0;
  std::vector<Thread> threads_;
  std::vector<Exchange> warps_;
  std::vector<char> dynamic_shared_;
  AccessCheck check_;
};

}  // namespace cornu::cuda::simulated
