// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/elementwise/layout.h"

#include <algorithm>

namespace cornu::cuda {
namespace {

// The stride of an operand along each axis of the result.
std::vector<int64_t> operand_strides(const Shape& shape, const Shape& operand) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 0);
  int64_t stride = 1;
  for (int64_t axis = operand.rank(); axis-- > 0;) {
    const int64_t of_result = axis + shape.rank() - operand.rank();
    if (operand[axis] != 1) strides[static_cast<size_t>(of_result)] = stride;
    stride *= operand[axis];
  }
  return strides;
}

}  // namespace

bool BroadcastAxes::is_full(size_t operand) const {
  int64_t stride = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    if (strides[operand][axis] != stride) return false;
    stride *= sizes[axis];
  }
  return true;
}

bool BroadcastAxes::is_scalar(size_t operand) const {
  return std::ranges::all_of(strides[operand], [](int64_t stride) { return stride == 0; });
}

BroadcastAxes broadcast_axes(const Shape& shape, std::span<const Shape> operands) {
  std::vector<std::vector<int64_t>> all;
  for (const Shape& operand : operands) all.push_back(operand_strides(shape, operand));
  BroadcastAxes axes;
  axes.strides.resize(all.size());
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const int64_t size = shape[axis];
    if (size == 1) continue;
    const auto at = static_cast<size_t>(axis);
    bool merges = !axes.sizes.empty();
    for (size_t i = 0; merges && i < all.size(); ++i) {
      merges = axes.strides[i].back() == all[i][at] * size;
    }
    if (merges) {
      axes.sizes.back() *= size;
      for (size_t i = 0; i < all.size(); ++i) axes.strides[i].back() = all[i][at];
    } else {
      axes.sizes.push_back(size);
      for (size_t i = 0; i < all.size(); ++i) axes.strides[i].push_back(all[i][at]);
    }
  }
  return axes;
}

}  // namespace cornu::cuda
