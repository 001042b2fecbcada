// SPDX-License-Identifier: Apache-2.0
// How the operands of an elementwise kernel lie along its axes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/shape.h"

namespace cornu::cuda {

// Axes of the result after merging neighbours that every operand treats alike; axes of size 1 are
// gone. By operand and axis: how many elements further the next one is, 0 where it is broadcast.
struct BroadcastAxes {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides;

  int64_t inner() const { return sizes.empty() ? 1 : sizes.back(); }
  // The operand has an element for each of the result's.
  bool is_full(size_t operand) const;
  bool is_scalar(size_t operand) const;
};

BroadcastAxes broadcast_axes(const Shape& shape, std::span<const Shape> operands);

}  // namespace cornu::cuda
