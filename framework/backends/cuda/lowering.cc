// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/lowering.h"

#include <algorithm>
#include <limits>

#include "framework/backends/cuda/sources.h"
#include "framework/core/fnv.h"
#include "framework/graph/execution_config.h"

namespace cornu::cuda {
namespace {

constexpr size_t kAlignment = 256;

bool is_empty(const Dim3& grid) { return grid.x == 0 || grid.y == 0 || grid.z == 0; }

}  // namespace

void Lowering::launch(const std::string& name, std::string_view file,
                      const std::string& definitions, Dim3 grid, Dim3 block,
                      std::vector<Argument> arguments, uint32_t shared_bytes) {
  launch_text(name, definitions + std::string(source(file)), grid, block, std::move(arguments),
              shared_bytes);
}

void Lowering::launch_text(const std::string& name, const std::string& text, Dim3 grid, Dim3 block,
                           std::vector<Argument> arguments, uint32_t shared_bytes) {
  if (is_empty(grid)) return;
  steps_.push_back(KernelStep{.code = kernel_code(name, text),
                              .grid = grid,
                              .block = block,
                              .arguments = std::move(arguments),
                              .shared_bytes = shared_bytes});
}

void Lowering::copy(Slot to, Slot from, size_t bytes) {
  if (bytes > 0) steps_.push_back(CopyStep{to, from, bytes});
}

void Lowering::fill(Slot to, int byte, size_t bytes) {
  if (bytes > 0) steps_.push_back(FillStep{to, byte, bytes});
}

void Lowering::call(std::shared_ptr<LibraryKernel> kernel, std::vector<Slot> operands) {
  const Slot workspace = scratch(kernel->workspace_bytes());
  steps_.push_back(LibraryStep{std::move(kernel), std::move(operands), workspace});
}

std::shared_ptr<LibraryKernel> Lowering::prepare(MatmulSpec spec) {
  spec.tf32 = config::tensor_float_32_execution_enabled();
  return runtime_.prepare(gpu_, spec);
}

std::shared_ptr<LibraryKernel> Lowering::prepare(ConvSpec spec) {
  spec.tf32 = config::tensor_float_32_execution_enabled();
  spec.deterministic = config::op_determinism_enabled();
  return runtime_.prepare(gpu_, spec);
}

std::shared_ptr<LibraryKernel> Lowering::prepare(AttentionSpec spec) {
  spec.deterministic = !spec.gradient || config::op_determinism_enabled();
  return runtime_.prepare(gpu_, spec);
}

Slot Lowering::scratch(size_t bytes) {
  const Slot slot{Slot::Kind::Scratch, 0, scratch_bytes_};
  scratch_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return slot;
}

int64_t Lowering::add_check(std::function<void(int64_t value)> fail) {
  checks_.push_back(std::move(fail));
  return first_check_ + static_cast<int64_t>(checks_.size()) - 1;
}

bool LoweringTable::try_lower(const KernelSpec& spec, Lowering& lowering) const {
  const auto it = entries_.find(spec.op.name);
  if (it == entries_.end()) return false;
  return std::ranges::any_of(it->second, [&](const Lower& lower) { return lower(spec, lowering); });
}

void LoweringTable::lower(const KernelSpec& spec, Lowering& lowering) const {
  check<Unimplemented>(try_lower(spec, lowering),
                       "{}: the CUDA backend has no kernel for inputs ({}). Cast them to float32, "
                       "or use another device.",
                       spec.op.name, types_text(spec.inputs));
}

std::string type_name(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return "boolean";
    case DType::UInt8:
      return "u8";
    case DType::Int8:
      return "i8";
    case DType::Int32:
      return "i32";
    case DType::Int64:
      return "i64";
    case DType::UInt32:
      return "u32";
    case DType::UInt64:
      return "u64";
    case DType::Float16:
      return "f16";
    case DType::BFloat16:
      return "bf16";
    case DType::Float32:
      return "f32";
    case DType::Float64:
      return "f64";
    case DType::String:
      break;
  }
  raise<Internal>("The CUDA backend was given strings.");
}

std::string compute_name(DType dtype) { return is_half(dtype) ? "f32" : type_name(dtype); }

KernelCode kernel_code(const std::string& name, const std::string& text) {
  const std::string entry = fmt::format("{}_{:016x}", name, Fnv<uint64_t>().add(text).value());
  return {entry, define("KERNEL", entry) + text};
}

std::string define(std::string_view name, std::string_view value) {
  return fmt::format("#define {} {}\n", name, value);
}
std::string define(std::string_view name, int64_t value) {
  return fmt::format("#define {} {}ll\n", name, value);
}

Dim3 blocks_for(int64_t count, int64_t block) {
  const int64_t blocks = (count + block - 1) / block;
  return {static_cast<uint32_t>(std::min<int64_t>(blocks, std::numeric_limits<int32_t>::max()))};
}

}  // namespace cornu::cuda
