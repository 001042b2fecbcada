// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax and the cross-entropies.
#include <algorithm>
#include <bit>

#include "framework/backends/cuda/lowering.h"
#include "framework/graph/refusals.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kSoftmaxBlock = 256;

// Rows along one axis of [outer, count, inner].
struct SoftmaxRows {
  int64_t rows;
  int64_t count;
  int64_t inner;

  SoftmaxRows(const Shape& shape, int64_t axis)
      : rows(shape.slice(0, axis).num_elements() * shape.slice(axis + 1).num_elements()),
        count(shape[axis]),
        inner(shape.slice(axis + 1).num_elements()) {}

  // Threads of a row: neighbours read neighbours where that is possible.
  int64_t across() const {
    if (inner > 1) return 1;
    const auto quarter = static_cast<uint64_t>(std::max<int64_t>((count + 3) / 4, 1));
    return std::min<int64_t>(static_cast<int64_t>(std::bit_ceil(quarter)), kSoftmaxBlock);
  }
};

struct SoftmaxOperands {
  std::string_view kind;
  DType second;  // of targets or labels
  Slot second_at;
  Slot probabilities;
  Slot losses;
  int64_t ignored = 0;
  int64_t check = 0;
};

void launch_softmax(const std::string& name, const SoftmaxRows& rows, DType dtype,
                    const SoftmaxOperands& operands, Lowering& lowering) {
  const int64_t across = rows.across();
  const std::string definitions = define("KIND", operands.kind) + define("T", type_name(dtype)) +
                                  define("C", compute_name(dtype)) +
                                  define("S", type_name(operands.second)) +
                                  define("TX", fmt::to_string(across));
  lowering.launch(
      name, "kernels/softmax/rows.cu", definitions, blocks_for(rows.rows, kSoftmaxBlock / across),
      {kSoftmaxBlock},
      {in(0), operands.probabilities, rows.rows, rows.count, std::max<int64_t>(rows.inner, 1),
       operands.second_at, operands.losses, operands.ignored, status(), operands.check});
}

Lower softmax(std::string name, std::string_view kind) {
  return [name = std::move(name), kind](const KernelSpec& spec, Lowering& lowering) {
    const auto& [dtype, shape] = spec.inputs[0];
    if (!is_floating(dtype)) return false;
    if (shape.num_elements() == 0) return true;
    launch_softmax(name, SoftmaxRows(shape, spec.attributes.get_int("axis")), dtype,
                   {kind, dtype, in(0), out(0), out(0)}, lowering);
    lowering.may_alias(0, 0);
    return true;
  };
}

bool lower_cross_entropy(const KernelSpec& spec, Lowering& lowering) {
  const auto& [dtype, shape] = spec.inputs[0];
  if (!is_floating(dtype)) return false;
  launch_softmax("softmax_cross_entropy", SoftmaxRows(shape, shape.rank() - 1), dtype,
                 {"CROSS_ENTROPY", dtype, in(1), out(1), out(0)}, lowering);
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
  launch_softmax("sparse_softmax_cross_entropy", SoftmaxRows(shape, shape.rank() - 1), dtype,
                 {"SPARSE_CROSS_ENTROPY", labels, in(1), out(1), out(0),
                  spec.attributes.get_int("ignore_class"), check},
                 lowering);
  lowering.may_alias(0, 1);
  return true;
}

}  // namespace

void register_softmax(LoweringTable& table) {
  table.add("softmax", softmax("softmax", "SOFTMAX"));
  table.add("log_softmax", softmax("log_softmax", "LOG_SOFTMAX"));
  table.add("softmax_cross_entropy", lower_cross_entropy);
  table.add("sparse_softmax_cross_entropy", lower_sparse_cross_entropy);
}

}  // namespace cornu::cuda
