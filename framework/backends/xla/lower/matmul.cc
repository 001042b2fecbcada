// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include "framework/backends/xla/lowering.h"

namespace cornu::xla {
namespace {

// The batch axes of matrices, and the axis to sum over.
Values lower_matmul(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.dtype == DType::Bool) return {};
  const bool transpose_a = spec.attributes.get_bool("transpose_a");
  const bool transpose_b = spec.attributes.get_bool("transpose_b");
  const Shape batch = type.shape.slice(0, -2);
  const auto with_batch = [&](const Value& x) {
    return spread(to, x, batch.concat(x.shape().slice(-2, x.rank())));
  };
  // Rows of all batches times a single matrix: one product.
  const bool shared = in[1].rank() == 2 && !transpose_a;
  const Value a = shared ? in[0] : with_batch(in[0]);
  const Value b = shared ? in[1] : with_batch(in[1]);
  DotAxes axes;
  for (int64_t axis = 0; !shared && axis < batch.rank(); ++axis) {
    axes.batch_a.push_back(axis);
    axes.batch_b.push_back(axis);
  }
  axes.sum_a = {a.rank() - (transpose_a ? 2 : 1)};
  axes.sum_b = {b.rank() - (transpose_b ? 1 : 2)};
  // 16-bit floats are summed in float32.
  const DType sum = is_half(type.dtype) ? DType::Float32 : type.dtype;
  return {convert(to, dot(to, a, b, axes, sum), type.dtype)};
}

}  // namespace

void register_matmul(LoweringTable& table) { table.add("matmul", lower_matmul); }

}  // namespace cornu::xla
