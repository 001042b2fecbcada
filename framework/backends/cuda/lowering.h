// SPDX-License-Identifier: Apache-2.0
// How an op is translated into work for a GPU: a list of steps (kernel launches, library calls,
// copies) over the op's operands and scratch memory; and the table of lowerings.
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

// The location of an array that a step reads or writes: an operand of the op, or scratch memory.
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
// Where kernels report rejected values: see Lowering::add_check.
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

// Pairs (input, output) that may share memory: every element of that input is read by the thread
// that writes the same element of that output, before the write.
using Aliases = std::vector<std::pair<int, int>>;

// The steps of one op, in execution order.
class Lowering {
 public:
  // `runtime` and `gpu` provide the libraries' kernels. Without `specialize`, code should depend
  // only on dtypes and ranks, with sizes passed as arguments, so that eager ops of other shapes
  // share it. Checks are numbered starting at `first_check`.
  Lowering(Runtime& runtime, int gpu, bool specialize, int64_t first_check = 1)
      : runtime_(runtime), gpu_(gpu), specialize_(specialize), first_check_(first_check) {}

  Runtime& runtime() const { return runtime_; }
  int gpu() const { return gpu_; }
  bool specialize() const { return specialize_; }

  // Adds a launch of the kernel in `file` (sources.h), preceded by `definitions`, i.e. lines such
  // as "#define T f32". `name` is the kernel's name in profiles and part of its entry point, which
  // the file calls KERNEL. No-op for an empty grid.
  void launch(const std::string& name, std::string_view file, const std::string& definitions,
              Dim3 grid, Dim3 block, std::vector<Argument> arguments, uint32_t shared_bytes = 0);
  // Adds a launch of a kernel with its own text, which calls its entry point KERNEL.
  void launch_text(const std::string& name, const std::string& text, Dim3 grid, Dim3 block,
                   std::vector<Argument> arguments, uint32_t shared_bytes = 0);
  void copy(Slot to, Slot from, size_t bytes);
  void fill(Slot to, int byte, size_t bytes);
  // Adds a library call. Its workspace is taken from scratch memory.
  void call(std::shared_ptr<LibraryKernel> kernel, std::vector<Slot> operands);

  // Prepares a library's kernel, subject to config::enable_tensor_float_32_execution and
  // enable_op_determinism; returns null when there is none.
  std::shared_ptr<LibraryKernel> prepare(MatmulSpec spec);
  std::shared_ptr<LibraryKernel> prepare(ConvSpec spec);
  std::shared_ptr<LibraryKernel> prepare(AttentionSpec spec);

  // Allocates scratch memory, aligned to 256 bytes.
  Slot scratch(size_t bytes);

  // Returns the number that a kernel passes to `report(status, number, value)` when it finds a
  // value that the op rejects; `fail` is then called with that value on the host, and throws. The
  // kernel must have status() and the number among its arguments.
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

// Adds the steps of an op. Returns false, with nothing added, if the spec isn't supported (then the
// next lowering is tried).
using Lower = std::function<bool(const KernelSpec& spec, Lowering& lowering)>;

// Lowerings by op. For one op, they are tried in the order in which they were added.
class LoweringTable {
 public:
  void add(std::string_view op, Lower lower) {
    entries_[std::string(op)].push_back(std::move(lower));
  }
  // Throws Unimplemented, naming op and dtypes, when no entry supports the spec.
  void lower(const KernelSpec& spec, Lowering& lowering) const;
  // Like lower(), but returns false when no entry supports the spec.
  bool try_lower(const KernelSpec& spec, Lowering& lowering) const;

 private:
  std::unordered_map<std::string, std::vector<Lower>> entries_;
};

// The table of this build: filled on first use by the register_* functions below.
const LoweringTable& lowering_table();

// One per folder or file of kernels/.
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
void register_recurrent(LoweringTable& table);  // lstm, gru
void register_fft(LoweringTable& table);
void register_linalg(LoweringTable& table);  // lu, cholesky, qr, triangular_solve, eigh, svd

// ---- shared by lowerings ----

// The C++ name of a dtype in kernels: "f32", "bf16", "i64", "boolean" …
std::string type_name(DType dtype);
// The name of the type used for its arithmetic: "f32" for 16-bit floats.
std::string compute_name(DType dtype);
// A kernel whose text calls its entry point KERNEL. Kernels are identified by name, so this one is
// suffixed with the hash of the text.
KernelCode kernel_code(const std::string& name, const std::string& text);
// "#define NAME value\n"
std::string define(std::string_view name, std::string_view value);
std::string define(std::string_view name, int64_t value);

// Number of blocks of `block` threads for `count` threads; at most the limit of a grid's x axis.
Dim3 blocks_for(int64_t count, int64_t block);

}  // namespace cornu::cuda
