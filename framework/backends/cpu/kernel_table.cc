// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernel.h"

#include <exception>
#include <new>

#include "framework/backends/cpu/exit_gate.h"

namespace cornu::cpu {
namespace {

// Exceptions other than Error come from oneDNN.
std::unique_ptr<Kernel> make_or_raise(const KernelFactory& make, const KernelSpec& spec) {
  try {
    return make(spec);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    raise<ResourceExhausted>("{}: out of memory while its kernel was prepared for inputs ({}).",
                             spec.op.name, types_text(spec.inputs));
  } catch (const std::exception& error) {
    raise<Unimplemented>(
        "{}: the CPU backend can't prepare it for inputs ({}) and outputs ({}): {}. Use smaller "
        "sizes.",
        spec.op.name, types_text(spec.inputs), types_text(spec.outputs), error.what());
  }
}

}  // namespace

void KernelTable::add(std::string_view op, KernelFactory make, Aliases may_alias) {
  entries_[std::string(op)].push_back({std::move(make), std::move(may_alias)});
}

std::unique_ptr<Kernel> KernelTable::try_make(const KernelSpec& spec) const {
  const auto it = entries_.find(spec.op.name);
  if (it == entries_.end()) return nullptr;
  const KernelUse use;
  for (const KernelEntry& entry : it->second) {
    auto kernel = make_or_raise(entry.make, spec);
    if (!kernel) continue;
    if (kernel->may_alias().empty()) kernel->set_may_alias(entry.may_alias);
    return kernel;
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

const KernelTable& kernel_table() {
  static const KernelTable* table = [] {
    auto* made = new KernelTable;
    register_elementwise_kernels(*made);
    register_reduction_kernels(*made);
    register_softmax_kernels(*made);
    register_matmul_kernels(*made);
    register_attention_kernels(*made);
    register_conv_kernels(*made);
    register_pooling_kernels(*made);
    register_fft_kernels(*made);
    register_recurrent_kernels(*made);
    register_shape_kernels(*made);
    register_index_kernels(*made);
    register_row_kernels(*made);
    register_segment_kernels(*made);
    register_factorization_kernels(*made);
    register_spectral_kernels(*made);
    register_random_kernels(*made);
    register_distribution_kernels(*made);
    register_reduce_rows_kernels(*made);
    register_collective_kernels(*made);
    register_control_kernels(*made);
    return made;
  }();
  return *table;
}

}  // namespace cornu::cpu
