// SPDX-License-Identifier: Apache-2.0
// Ops that only move elements: README.md.
#include "framework/backends/cuda/kernels/shape/copy.h"
#include "framework/backends/cuda/kernels/shape/join.h"

namespace cornu::cuda {
namespace {

// The axes of a contiguous array.
std::vector<CopyAxis> contiguous_axes(const Shape& shape) {
  std::vector<CopyAxis> axes(static_cast<size_t>(shape.rank()));
  int64_t stride = 1;
  for (int64_t i = shape.rank(); i-- > 0;) {
    axes[static_cast<size_t>(i)] = {shape[i], stride};
    stride *= shape[i];
  }
  return axes;
}

bool lower_reshape(const KernelSpec& spec, Lowering& lowering) {
  add_plain_copy(spec, lowering);
  return true;
}

bool lower_transpose(const KernelSpec& spec, Lowering& lowering) {
  const std::vector<CopyAxis> from = contiguous_axes(spec.inputs[0].shape);
  std::vector<CopyAxis> axes;
  for (const int64_t axis : spec.attributes.get_ints("permutation")) {
    axes.push_back(from[static_cast<size_t>(axis)]);
  }
  add_strided_copy(spec, axes, 0, lowering);
  return true;
}

bool lower_slice(const KernelSpec& spec, Lowering& lowering) {
  std::vector<CopyAxis> axes = contiguous_axes(spec.inputs[0].shape);
  const auto& begin = spec.attributes.get_ints("begin");
  const auto& steps = spec.attributes.get_ints("strides");
  int64_t first = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    first += begin[i] * axes[i].from;
    axes[i] = {spec.outputs[0].shape[static_cast<int64_t>(i)], axes[i].from * steps[i]};
  }
  add_strided_copy(spec, axes, first, lowering);
  return true;
}

bool lower_reverse(const KernelSpec& spec, Lowering& lowering) {
  std::vector<CopyAxis> axes = contiguous_axes(spec.inputs[0].shape);
  int64_t first = 0;
  for (const int64_t index : spec.attributes.get_ints("axes")) {
    CopyAxis& axis = axes[static_cast<size_t>(index)];
    first += (axis.size - 1) * axis.from;
    axis.from = -axis.from;
  }
  add_strided_copy(spec, axes, first, lowering);
  return true;
}

bool lower_broadcast(const KernelSpec& spec, Lowering& lowering) {
  const Shape& shape = spec.outputs[0].shape;
  const std::vector<CopyAxis> from = contiguous_axes(spec.inputs[0].shape);
  std::vector<CopyAxis> axes(static_cast<size_t>(shape.rank()));
  const size_t added = axes.size() - from.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].size = shape[static_cast<int64_t>(i)];
    if (i >= added && from[i - added].size != 1) axes[i].from = from[i - added].from;
  }
  add_strided_copy(spec, axes, 0, lowering);
  return true;
}

// Passes its first inputs through.
bool lower_custom_gradient(const KernelSpec& spec, Lowering& lowering) {
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    lowering.may_alias(static_cast<int>(i), static_cast<int>(i));
    lowering.copy(out(i), in(i), spec.outputs[i].bytes());
  }
  return true;
}

}  // namespace

void register_shape(LoweringTable& table) {
  table.add("reshape", lower_reshape);
  table.add("bitcast", lower_reshape);
  table.add("transpose", lower_transpose);
  table.add("concatenate", lower_concatenate);
  table.add("slice", lower_slice);
  table.add("pad", lower_pad);
  table.add("reverse", lower_reverse);
  table.add("broadcast_to", lower_broadcast);
  table.add("custom_gradient", lower_custom_gradient);
}

}  // namespace cornu::cuda
