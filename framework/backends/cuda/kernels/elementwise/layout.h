// SPDX-License-Identifier: Apache-2.0
// The layout of an elementwise kernel's operands along its axes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/shape.h"

namespace cornu::cuda {

// Axes of the result after merging neighbors that every operand treats alike and removing axes of
// size 1. `strides`: by operand and axis, in elements; 0 along broadcast axes.
struct BroadcastAxes {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides;

  int64_t inner() const { return sizes.empty() ? 1 : sizes.back(); }
  // Whether the operand has an element for each element of the result.
  bool is_full(size_t operand) const;
  bool is_scalar(size_t operand) const;
};

BroadcastAxes broadcast_axes(const Shape& shape, std::span<const Shape> operands);

}  // namespace cornu::cuda
