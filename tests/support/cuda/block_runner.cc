// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/block_runner.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <span>

#include "framework/core/error.h"

namespace cornu::cuda::simulated {
namespace {

constexpr int kRubbish = 0xCD;
constexpr size_t kWarp = 32;
constexpr size_t kMaxThreads = 1024;
// Of a block: in all, on GPUs of compute capability 8.6 and 8.9, and in the kernel's own arrays.
constexpr size_t kMaxShared = 99u << 10;
constexpr size_t kMaxOwnShared = 48u << 10;
constexpr size_t kSharedAlignment = 1024;

size_t volume(const Dim3& size) { return size_t{size.x} * size.y * size.z; }

KernelState::Index index_of(size_t number, const Dim3& size) {
  const size_t row = number / size.x;
  return {static_cast<uint32_t>(number % size.x), static_cast<uint32_t>(row % size.y),
          static_cast<uint32_t>(row / size.y)};
}

}  // namespace

BlockRunner* BlockRunner::current_ = nullptr;

BlockRunner::BlockRunner()
    : threads_(kMaxThreads),
      warps_(kMaxThreads / kWarp),
      dynamic_shared_(kMaxShared + kSharedAlignment) {}

void BlockRunner::run(const CompiledKernel& kernel, const GridLaunch& launch, bool backwards) {
  kernel_ = &kernel;
  launch_ = &launch;
  backwards_ = backwards;
  current_ = this;
  count_ = volume(launch.block);
  check_launch();
  for (size_t i = 0; i < count_; ++i) threads_[i].index = index_of(i, launch.block);
  KernelState& state = *kernel.exports.state;
  state.block_size = {launch.block.x, launch.block.y, launch.block.z};
  state.grid_size = {launch.grid.x, launch.grid.y, launch.grid.z};
  const auto begin = reinterpret_cast<uintptr_t>(dynamic_shared_.data());
  state.dynamic_shared =
      dynamic_shared_.data() + (kSharedAlignment - begin % kSharedAlignment) % kSharedAlignment;
  state.sync_block = sync_block;
  state.sync_warp = sync_warp;
  state.exchange = exchange;
  state.access = access;
  state.misaligned = misaligned;
  check_.begin_launch(launch.arrays);
  for (size_t i = 0, blocks = volume(launch.grid); i < blocks; ++i) {
    state.block = index_of(backwards ? blocks - 1 - i : i, launch.grid);
    start_block();
    kernel.has_barriers ? run_with_barriers() : run_in_turn();
  }
  const std::optional<std::string> fault = check_.end_launch();
  check<Internal>(!fault, "Kernel {}: {}.", kernel.name, fault.value_or(""));
}

void BlockRunner::check_launch() const {
  check<Internal>(count_ > 0 && count_ <= kMaxThreads && launch_->block.z <= 64,
                  "Kernel {}: blocks can't have {} x {} x {} threads.", kernel_->name,
                  launch_->block.x, launch_->block.y, launch_->block.z);
  check<Internal>(volume(launch_->grid) > 0 && launch_->grid.x <= 0x7fffffffu &&
                      launch_->grid.y <= 0xffffu && launch_->grid.z <= 0xffffu,
                  "Kernel {}: a grid can't have {} x {} x {} blocks.", kernel_->name,
                  launch_->grid.x, launch_->grid.y, launch_->grid.z);
  check<Internal>(count_ <= kernel_->exports.most_threads,
                  "Kernel {}: has __launch_bounds__ of {} threads, not of {}.", kernel_->name,
                  kernel_->exports.most_threads, count_);
  const auto own = static_cast<size_t>(kernel_->exports.shared_end - kernel_->exports.shared_begin);
  check<Internal>(own <= kMaxOwnShared && own + launch_->shared_bytes <= kMaxShared,
                  "Kernel {}: blocks can't have {} bytes of shared memory and another {}.",
                  kernel_->name, own, launch_->shared_bytes);
  check<Internal>(launch_->words.size() == kernel_->exports.parameter_words,
                  "Kernel {}: has parameters of {} words, not of {}.", kernel_->name,
                  kernel_->exports.parameter_words, launch_->words.size());
}

void BlockRunner::start_block() {
  const KernelExports& exports = kernel_->exports;
  const std::span<char> shared[] = {{exports.shared_begin, exports.shared_end},
                                    {exports.state->dynamic_shared, launch_->shared_bytes}};
  MemoryRange ranges[std::size(shared)];
  for (size_t i = 0; i < std::size(shared); ++i) {
    std::ranges::fill(shared[i], static_cast<char>(kRubbish));
    const auto bytes = std::as_bytes(shared[i]);
    ranges[i] = {bytes.data(), bytes.data() + bytes.size()};
  }
  check_.begin_block(ranges);
}

template <class F>
void BlockRunner::for_each_thread(const F& f) {
  for (size_t i = 0; i < count_; ++i) f(backwards_ ? count_ - 1 - i : i);
}

void BlockRunner::run_in_turn() {
  for_each_thread([&](size_t i) {
    running_ = i;
    kernel_->exports.state->thread = threads_[i].index;
    kernel_->exports.call(launch_->words.data());
  });
}

void BlockRunner::run_with_barriers() {
  for (size_t i = 0; i < count_; ++i) {
    Thread& thread = threads_[i];
    if (!thread.fiber) thread.fiber = std::make_unique<Fiber>();
    thread.fiber->start(begin_thread);
    thread.state = State::Ready;
    thread.round = 0;
  }
  std::memset(warps_.data(), kRubbish, warps_.size() * sizeof(Exchange));
  for (;;) {
    run_ready_threads();
    const bool some = release_warps();
    if (release_block() || some) continue;
    const auto is_done = [](const Thread& thread) { return thread.state == State::Done; };
    if (std::all_of(threads_.begin(), threads_.begin() + static_cast<ptrdiff_t>(count_), is_done)) {
      return;
    }
    fail();
  }
}

void BlockRunner::run_ready_threads() {
  for_each_thread([&](size_t i) {
    if (threads_[i].state != State::Ready) return;
    running_ = i;
    kernel_->exports.state->thread = threads_[i].index;
    threads_[i].fiber->enter();
  });
}

// Releases the warps whose threads all wait at the same barrier. Threads that have returned count
// as waiting at a barrier, but have no value to exchange.
bool BlockRunner::release_warps() {
  bool some = false;
  for (size_t first = 0; first < count_; first += kWarp) {
    const size_t last = std::min(first + kWarp, count_);
    for (const State state : {State::AtWarp, State::AtExchange}) {
      const auto arrived = [&](size_t i) {
        const State own = threads_[i].state;
        return own == state || (own == State::Done && state == State::AtWarp);
      };
      size_t waiting = 0;
      bool all = true;
      for (size_t i = first; i < last; ++i) {
        all = all && arrived(i);
        waiting += threads_[i].state == state;
      }
      if (!all || waiting == 0) continue;
      meet(first, last, state);
      some = true;
    }
  }
  return some;
}

bool BlockRunner::release_block() {
  bool any = false;
  for (size_t i = 0; i < count_; ++i) {
    const State state = threads_[i].state;
    if (state != State::AtBlock && state != State::Done) return false;
    any = any || state == State::AtBlock;
  }
  if (any) meet(0, count_, State::AtBlock);
  return any;
}

// Releases all threads in `state`, which must all be at the same barrier.
void BlockRunner::meet(size_t first, size_t last, State state) {
  int line = 0;
  for (size_t i = first; i < last; ++i) {
    Thread& thread = threads_[i];
    if (thread.state != state) continue;
    if (line != 0 && thread.line != line) fail();
    line = thread.line;
  }
  for (size_t i = first; i < last; ++i) {
    if (threads_[i].state == state) threads_[i].state = State::Ready;
  }
  if (state == State::AtBlock) check_.sync_block();
  if (state == State::AtWarp) check_.sync_warp(first / kWarp);
}

void BlockRunner::begin_thread() {
  BlockRunner& runner = *current_;
  runner.kernel_->exports.call(runner.launch_->words.data());
  runner.threads_[runner.running_].state = State::Done;
  runner.threads_[runner.running_].fiber->leave();
}

void BlockRunner::wait(State state, int line) {
  Thread& thread = threads_[running_];
  thread.state = state;
  thread.line = line;
  thread.fiber->leave();
}

// No thread can be two exchanges ahead of the others, so slots for two rounds suffice.
const uint64_t* BlockRunner::exchange(uint64_t value, int line) {
  BlockRunner& runner = *current_;
  const size_t number = runner.running_;
  Thread& thread = runner.threads_[number];
  uint64_t* values = runner.warps_[number / kWarp].values[thread.round % 2];
  ++thread.round;
  values[number % kWarp] = value;
  runner.wait(State::AtExchange, line);
  return values;
}

void BlockRunner::fail() const {
  std::set<std::string> places;
  size_t returned = 0;
  for (size_t i = 0; i < count_; ++i) {
    const Thread& thread = threads_[i];
    returned += thread.state == State::Done;
    if (thread.state == State::Done || thread.state == State::Ready) continue;
    const char* what = thread.state == State::AtBlock  ? "__syncthreads"
                       : thread.state == State::AtWarp ? "__syncwarp"
                                                       : "a shuffle";
    places.insert(fmt::format("{} in line {}", what, thread.line));
  }
  std::string all;
  for (const std::string& place : places) all += (all.empty() ? "" : ", ") + place;
  raise<Internal>(
      "Kernel {}: the threads of a block wait for each other in different places: {}; {} of {} "
      "have returned.",
      kernel_->name, all, returned, count_);
}

}  // namespace cornu::cuda::simulated
