// SPDX-License-Identifier: Apache-2.0
// How an op becomes what a GPU runs: a list of steps (kernel launches, library calls, copies) over
// the op's operands and scratch memory; and the table of what makes them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "framework/backends/cuda/runtime.h"
#include "framework/graph/kernel_spec.h"

namespace cornu::cuda {

// The place of an array that a step reads or writes: an operand of the op, or its scratch memory.
struct Slot {
  enum class Kind : uint8_t { Input, Output, Scratch, Status };
  Kind kind = Kind::Input;
  uint32_t index = 0;  // of the input or output
  size_t offset = 0;   // bytes from its beginning
  friend bool operator==(const Slot&, const Slot&) = default;
};
inline Slot in(size_t index, size_t offset = 0) {
  return {Slot::Kind::Input, static_cast<uint32_t>(index), offset};
}
inline Slot out(size_t index, size_t offset = 0) {
  return {Slot::Kind::Output, static_cast<uint32_t>(index), offset};
}
// Where kernels report values that they refuse: see Lowering::add_check.
inline Slot status() { return {Slot::Kind::Status, 0, 0}; }

using Argument = std::variant<Slot, int64_t, double>;

struct KernelStep {
  KernelCode code;
  Dim3 grid;
  Dim3 block;
  std::vector<Argument> arguments;
  uint32_t shared_bytes = 0;  // dynamic shared memory
};
struct CopyStep {
  Slot to;
  Slot from;
  size_t bytes = 0;
};
struct FillStep {
  Slot to;
  int byte = 0;
  size_t bytes = 0;
};
struct LibraryStep {
  std::shared_ptr<LibraryKernel> kernel;
  std::vector<Slot> operands;
  Slot workspace;  // Scratch
};
using Step = std::variant<KernelStep, CopyStep, FillStep, LibraryStep>;

// Indices (input, output) that may share memory: every element of that input is read by the thread
// that writes the same element of that output, before it does.
using Aliases = std::vector<std::pair<int, int>>;

// The steps of one op, in the order in which they run.
class Lowering {
 public:
  // `runtime` and `gpu` give the libraries' kernels. Without `specialize`, code should depend on
  // dtypes and ranks alone, with sizes as arguments, so that eager ops of other shapes share it.
  // Checks are numbered from `first_check` on.
  Lowering(Runtime& runtime, int gpu, bool specialize, int64_t first_check = 1)
      : runtime_(runtime), gpu_(gpu), specialize_(specialize), first_check_(first_check) {}

  Runtime& runtime() const { return runtime_; }
  int gpu() const { return gpu_; }
  bool specialize() const { return specialize_; }

  // A launch of a kernel of file `file` (sources.h) after `definitions`, lines such as
  // "#define T f32"; `name` is the kernel's in profiles and ends up in its entry point, which the
  // file calls KERNEL. Nothing for an empty grid.
  void launch(const std::string& name, std::string_view file, const std::string& definitions,
              Dim3 grid, Dim3 block, std::vector<Argument> arguments, uint32_t shared_bytes = 0);
  // A launch of a kernel of one's own, whose text calls its entry point KERNEL.
  void launch_text(const std::string& name, const std::string& text, Dim3 grid, Dim3 block,
                   std::vector<Argument> arguments, uint32_t shared_bytes = 0);
  void copy(Slot to, Slot from, size_t bytes);
  void fill(Slot to, int byte, size_t bytes);
  // Workspace is taken from the scratch memory.
  void call(std::shared_ptr<LibraryKernel> kernel, std::vector<Slot> operands);

  // A library's kernel, as config::enable_tensor_float_32_execution and enable_op_determinism
  // allow; null where there is none.
  std::shared_ptr<LibraryKernel> prepare(MatmulSpec spec);
  std::shared_ptr<LibraryKernel> prepare(ConvSpec spec);
  std::shared_ptr<LibraryKernel> prepare(AttentionSpec spec);

  // Scratch memory, aligned to 256 bytes.
  Slot scratch(size_t bytes);

  // Gives the number that a kernel passes to `report(status, number, value)` when it finds a value
  // that the op refuses; `fail`, given that value, then throws on the host. The kernel has status()
  // and the number among its arguments.
  int64_t add_check(std::function<void(int64_t value)> fail);

  void may_alias(int input, int output) { aliases_.emplace_back(input, output); }

  const std::vector<Step>& steps() const { return steps_; }
  size_t scratch_bytes() const { return scratch_bytes_; }
  const Aliases& aliases() const { return aliases_; }
  const std::vector<std::function<void(int64_t)>>& checks() const { return checks_; }

 private:
  Runtime& runtime_;
  int gpu_;
  bool specialize_;
  int64_t first_check_;
  std::vector<Step> steps_;
  size_t scratch_bytes_ = 0;
  Aliases aliases_;
  std::vector<std::function<void(int64_t)>> checks_;
};

// Adds the steps of an op; false, with nothing added, when it doesn't support the spec (then the
// next one is tried).
using Lower = std::function<bool(const KernelSpec& spec, Lowering& lowering)>;

// Lowerings by op. For one op, they are tried in the order they were added.
class LoweringTable {
 public:
  void add(std::string_view op, Lower lower) {
    entries_[std::string(op)].push_back(std::move(lower));
  }
  // Unimplemented, naming op and dtypes, when no entry supports the spec.
  void lower(const KernelSpec& spec, Lowering& lowering) const;
  // The same, but false when no entry supports it.
  bool try_lower(const KernelSpec& spec, Lowering& lowering) const;

 private:
  std::unordered_map<std::string, std::vector<Lower>> entries_;
};

// The table of this build: filled on first use by the register_* functions below.
const LoweringTable& lowering_table();

// One for each folder or file of kernels/.
void register_elementwise(LoweringTable& table);  // elementwise ops, cast, select, "fused"
void register_groups(LoweringTable& table);       // "fused_group"
void register_reductions(LoweringTable& table);   // sum, max, …, argmax, argmin
void register_moments(LoweringTable& table);      // column_moments
void register_scans(LoweringTable& table);        // cumsum, argsort
void register_softmax(LoweringTable& table);      // softmax, log_softmax, cross-entropies
void register_rows(LoweringTable& table);         // "fused_rows"
void register_matmul(LoweringTable& table);
void register_conv(LoweringTable& table);
void register_pooling(LoweringTable& table);
void register_shape(LoweringTable& table);    // reshape, transpose, concatenate, slice, pad, …
void register_index(LoweringTable& table);    // gather, scatter_add, one_hot, iota
void register_segment(LoweringTable& table);  // segment_reduce
void register_random(LoweringTable& table);   // all random ops
void register_attention(LoweringTable& table);
void register_recurrent(LoweringTable& table);  // lstm
void register_fft(LoweringTable& table);
void register_linalg(LoweringTable& table);  // lu, cholesky, qr, triangular_solve, eigh, svd

// ---- what lowerings share ----

// The C++ name of a dtype in kernels: "f32", "bf16", "i64", "boolean" …
std::string type_name(DType dtype);
// That of the type its arithmetic is done in: "f32" for 16-bit floats.
std::string compute_name(DType dtype);
// A kernel whose text calls its entry point KERNEL. Kernels are told apart by their names: this one
// has the text's hash behind it.
KernelCode kernel_code(const std::string& name, const std::string& text);
// "#define NAME value\n"
std::string define(std::string_view name, std::string_view value);
std::string define(std::string_view name, int64_t value);

// Blocks for `count` threads in blocks of `block`; at most what a grid's x axis takes.
Dim3 blocks_for(int64_t count, int64_t block);

}  // namespace cornu::cuda
