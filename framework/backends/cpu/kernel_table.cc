// SPDX-License-Identifier: Apache-2.0
#include "cornu/backends/cpu/kernel.h"

namespace cornu::cpu {
namespace {

std::string types_text(std::span<const TensorType> types) {
  std::string text;
  for (const TensorType& type : types) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", type.dtype, type.shape);
  }
  return text;
}

}  // namespace

void KernelTable::add(std::string_view op, KernelFactory make, AliasFunction may_alias) {
  entries_[std::string(op)].push_back({std::move(make), std::move(may_alias)});
}

std::unique_ptr<Kernel> KernelTable::try_make(const KernelSpec& spec) const {
  const auto it = entries_.find(spec.op.name);
  if (it == entries_.end()) return nullptr;
  for (const KernelEntry& entry : it->second) {
    if (auto kernel = entry.make(spec)) return kernel;
  }
  return nullptr;
}

std::unique_ptr<Kernel> KernelTable::make(const KernelSpec& spec) const {
  auto kernel = try_make(spec);
  check<Unimplemented>(
      kernel != nullptr,
      "{}: the CPU backend has no kernel for inputs ({}). Cast them to float32, or "
      "use another device.",
      spec.op.name, types_text(spec.inputs));
  return kernel;
}

std::vector<std::pair<int, int>> KernelTable::aliases(const KernelSpec& spec) const {
  const auto it = entries_.find(spec.op.name);
  if (it == entries_.end()) return {};
  for (const KernelEntry& entry : it->second) {
    if (it->second.size() > 1 && !entry.make(spec)) continue;
    return entry.may_alias ? entry.may_alias(spec) : std::vector<std::pair<int, int>>{};
  }
  return {};
}

const KernelTable& kernel_table() {
  static const KernelTable* table = [] {
    auto* made = new KernelTable;
    register_elementwise_kernels(*made);
    register_reduction_kernels(*made);
    register_softmax_kernels(*made);
    register_matmul_kernels(*made);
    register_conv_kernels(*made);
    register_pooling_kernels(*made);
    register_shape_kernels(*made);
    register_index_kernels(*made);
    register_segment_kernels(*made);
    register_factorization_kernels(*made);
    register_spectral_kernels(*made);
    register_random_kernels(*made);
    register_distribution_kernels(*made);
    register_collective_kernels(*made);
    register_control_kernels(*made);
    return made;
  }();
  return *table;
}

}  // namespace cornu::cpu
