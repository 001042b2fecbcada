// SPDX-License-Identifier: Apache-2.0
// Runs a kernel's grid on the calling thread, block after block. Where its threads wait for each
// other, each has a stack of its own and runs up to its next barrier.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/backends/cuda/runtime.h"
#include "tests/support/cuda/fiber.h"
#include "tests/support/cuda/kernel_compiler.h"

namespace cornu::cuda::simulated {

struct GridLaunch {
  Dim3 grid;
  Dim3 block;
  uint32_t shared_bytes = 0;
  std::vector<uint64_t> words;  // the parameters, one after another
};

// One thread uses it at a time.
class BlockRunner {
 public:
  BlockRunner();

  // Blocks and threads come in ascending order or, `backwards`, in descending order. Internal,
  // naming the barriers, when some threads wait for others that never come.
  void run(const CompiledKernel& kernel, const GridLaunch& launch, bool backwards);

 private:
  enum class State : uint8_t { Ready, AtBlock, AtWarp, AtExchange, Done };
  struct Thread {
    KernelState::Index index = {};
    State state = State::Ready;
    uint8_t round = 0;  // of exchanges: those of two rounds lie apart
    int line = 0;       // of the barrier
    std::unique_ptr<Fiber> fiber;
  };
  struct Exchange {
    uint64_t values[2][32];
  };

  static void begin_thread();
  static void sync_block(int line) { current_->wait(State::AtBlock, line); }
  static void sync_warp(int line) { current_->wait(State::AtWarp, line); }
  static const uint64_t* exchange(uint64_t value, int line);

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
  size_t count_ = 0;  // threads of a block
  size_t running_ = 0;
  std::vector<Thread> threads_;
  std::vector<Exchange> warps_;
  std::vector<char> dynamic_shared_;
};

}  // namespace cornu::cuda::simulated
