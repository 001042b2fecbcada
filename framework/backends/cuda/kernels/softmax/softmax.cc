// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax and the cross-entropies.
#include "framework/backends/cuda/kernels/reduction/groups.h"
#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"
#include "framework/graph/refusals.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kKeptBySoftmax = 8;  // elements of a row kept by a thread: EACH in softmax.cu

struct SoftmaxOperands {
  std::string_view kind;
  DType second;  // of targets or labels
  Slot second_at;
  Slot probabilities;
  Slot losses;
  int64_t ignored = 0;
  int64_t check = 0;
};

void launch_softmax(const KernelSpec& spec, int64_t axis, const SoftmaxOperands& operands,
                    Lowering& lowering) {
  const auto& [dtype, shape] = spec.inputs[0];
  const Groups groups = Groups::along(shape, axis);
  const bool is_short = groups.count <= groups.depth * kKeptBySoftmax;
  const std::string text =
      define("SOFTMAX", "0") + define("LOG_SOFTMAX", "1") + define("CROSS_ENTROPY", "2") +
      define("SPARSE_CROSS_ENTROPY", "3") + define("KIND", operands.kind) +
      define("T", type_name(dtype)) + define("C", compute_name(dtype)) +
      define("S", type_name(operands.second)) + define("SHORT", is_short ? "1" : "0") +
      std::string(source("kernels/reduction/groups.cu")) +
      std::string(source("kernels/softmax/softmax.cu"));
  lowering.launch_text(spec.op.name, text, groups.blocks(), {kGroupBlock},
                       {in(0), operands.probabilities, groups.outer, groups.count, groups.inner,
                        groups.width, groups.depth, operands.second_at, operands.losses,
                        operands.ignored, status(), operands.check});
}

Lower softmax(std::string_view kind) {
  return [kind](const KernelSpec& spec, Lowering& lowering) {
    const auto& [dtype, shape] = spec.inputs[0];
    if (!is_floating(dtype)) return false;
    if (shape.num_elements() == 0) return true;
    launch_softmax(spec, spec.attributes.get_int("axis"), {kind, dtype, in(0), out(0), out(0)},
                   lowering);
    lowering.may_alias(0, 0);
    return true;
  };
}

bool lower_cross_entropy(const KernelSpec& spec, Lowering& lowering) {
  const auto& [dtype, shape] = spec.inputs[0];
  if (!is_floating(dtype)) return false;
  launch_softmax(spec, shape.rank() - 1, {"CROSS_ENTROPY", dtype, in(1), out(1), out(0)}, lowering);
  lowering.may_alias(0, 1);
  lowering.may_alias(1, 1);
  return true;
}

bool lower_sparse_cross_entropy(const KernelSpec& spec, Lowering& lowering) {
  const auto& [dtype, shape] = spec.inputs[0];
  const DType labels = spec.inputs[1].dtype;
  if (!is_floating(dtype) || is_floating(labels) || labels == DType::Bool) return false;
  const int64_t check = lowering.add_check([shape = shape](int64_t row_and_label) {
    refuse_label(fmt::to_string(static_cast<int32_t>(row_and_label)), row_and_label >> 32, shape);
  });
  launch_softmax(spec, shape.rank() - 1,
                 {"SPARSE_CROSS_ENTROPY", labels, in(1), out(1), out(0),
                  spec.attributes.get_int("ignore_class"), check},
                 lowering);
  lowering.may_alias(0, 1);
  return true;
}

}  // namespace

void register_softmax(LoweringTable& table) {
  table.add("softmax", softmax("SOFTMAX"));
  table.add("log_softmax", softmax("LOG_SOFTMAX"));
  table.add("softmax_cross_entropy", lower_cross_entropy);
  table.add("sparse_softmax_cross_entropy", lower_sparse_cross_entropy);
}

}  // namespace cornu::cuda
