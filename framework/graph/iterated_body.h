// SPDX-License-Identifier: Apache-2.0
// The locations of a loop body's operands in each iteration, shared by the loops of all backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/threads.h"
#include "framework/graph/graph.h"

namespace cornu {

// The operations that a backend implements for a loop.
class LoopMachine {
 public:
  virtual ~LoopMachine() = default;
  // Runs the body once.
  virtual void run(std::span<const void* const> inputs, std::span<void* const> outputs,
                   std::byte* workspace) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void zero(void* to, size_t bytes) = 0;
};

// The arguments of one run of a loop.
struct LoopRun {
  LoopMachine& machine;
  const void* const* in;
  void* const* out;
  void* const* stacks;  // of the ys
  std::byte* scratch;   // buffers for carries, followed by the body's workspace
  int64_t slots;        // of each stack
  int64_t iterations;   // -1: not known in advance
};

// A loop's body with the memory of its operands. The next value of a carry is written
// - to the stack of a y that equals the carry at the start of each iteration, if there is one,
// - else to the stack of a y that equals the carry's next value,
// - else to two buffers alternately, one of which is the loop's output.
class IteratedBody {
 public:
  // Reduces `body`, which is compiled afterwards, to the outputs that it computes, each once. If it
  // handles a part of each slice only, `whole` is the body of whole slices.
  IteratedBody(Graph& body, size_t carries, size_t xs, const Graph* whole = nullptr);

  // Scratch memory for the carries.
  size_t spare_bytes() const { return spare_bytes_; }
  std::span<const void* const> operands() const { return operands_; }

  // Runs run.iterations iterations; with `reverse`, from the last slice to the first.
  void run_all(const LoopRun& run, bool reverse);
  // Runs while `goes_on`, which may inspect operands(), returns true, for at most `maximum`
  // iterations (-1: no limit); returns the number of iterations.
  int64_t run_while(const LoopRun& run, int64_t maximum, FunctionRef<bool()> goes_on);

 private:
  void start(const LoopRun& run);
  // Runs the iteration whose slices are at `slot`; those of the next one are at `next_slot` (-1:
  // this is the last iteration).
  void run_iteration(int64_t slot, int64_t next_slot, bool first);
  // After the last iteration: copies the carries to the outputs, and zeros unused slots.
  void finish(int64_t iterations);

  static constexpr size_t kNone = ~size_t{0};

  // The source of an output of the body: a result of the program, or an unchanged operand.
  struct Source {
    bool produced;
    size_t index;
    friend bool operator==(const Source&, const Source&) = default;
  };

  size_t outputs() const { return output_bytes_.size(); }
  static size_t offset(size_t step, int64_t slot) { return step * static_cast<size_t>(slot); }
  void* stack(size_t output) const { return run_->stacks[output - carries_]; }
  void* slice(size_t output, int64_t slot) const;
  bool is_fixed(size_t carry) const { return sources_[carry] == Source{false, carry}; }
  bool is_chained(size_t output) const;
  void find_sources(Graph& graph);
  void place_carry(size_t carry);
  void move_to_chain(size_t carry, int64_t slot);
  const void* place_of_next(size_t i, int64_t slot, int64_t next_slot) const;
  void* place_of_output(size_t i, int64_t slot) const;
  void copy(void* to, const void* from, size_t bytes);
  void zero_unused(size_t output, int64_t iterations);

  size_t carries_;
  size_t xs_;
  std::vector<size_t> input_bytes_;  // of the body's inputs
  std::vector<size_t> output_bytes_;
  std::vector<size_t> input_steps_;  // bytes from one slice of an input to the next
  std::vector<size_t> output_steps_;
  std::vector<Source> sources_;  // by output
  std::vector<size_t> chain_;    // by carry: the y that equals it at the start of an iteration
  std::vector<size_t> shared_;   // by carry: the y that equals its next value
  std::vector<size_t> spare_offsets_;  // by carry
  size_t spare_bytes_ = 0;
  // State of a run:
  const LoopRun* run_ = nullptr;
  std::vector<const void*> operands_;  // of the current iteration
  std::vector<const void*> next_;
  std::vector<void*> results_;
  bool write_to_output_ = false;
};

}  // namespace cornu
