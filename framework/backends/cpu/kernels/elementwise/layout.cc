// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/layout.h"

#include <algorithm>
#include <cstring>

#include "framework/backends/cpu/kernels/elementwise/ops.h"

namespace cornu::cpu {

BroadcastLayout::BroadcastLayout(const Shape& out, std::span<const Shape> operands)
    : size_(out.num_elements()), operands_(operands.size()) {
  std::vector<std::vector<bool>> varies;  // by merged axis and operand
  for (int64_t axis = 0; axis < out.rank(); ++axis) {
    if (out[axis] == 1) continue;
    std::vector<bool> here;
    for (const Shape& shape : operands) {
      const int64_t own = axis - (out.rank() - shape.rank());
      here.push_back(own >= 0 && shape[own] == out[axis]);
    }
    if (!varies.empty() && varies.back() == here) {
      sizes_.back() *= out[axis];
    } else {
      sizes_.push_back(out[axis]);
      varies.push_back(std::move(here));
    }
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    Operand& operand = operands_[i];
    operand.strides.resize(sizes_.size());
    int64_t stride = 1;
    for (size_t axis = sizes_.size(); axis-- > 0;) {
      operand.strides[axis] = varies[axis][i] ? stride : 0;
      if (varies[axis][i]) stride *= sizes_[axis];
      operand.full = operand.full && varies[axis][i];
      operand.scalar = operand.scalar && !varies[axis][i];
    }
    // A single element is read in place.
    if (operand.full) operand.scalar = false;
  }
}

int64_t BroadcastLayout::block(int64_t limit) const {
  int64_t block = 1;
  for (size_t axis = sizes_.size(); axis-- > 0;) {
    if (axis + 1 < sizes_.size() && block * sizes_[axis] > limit) break;
    block *= sizes_[axis];
  }
  return block;
}

bool BroadcastLayout::is_periodic(size_t operand, int64_t block) const {
  return span(operand, block) == size_;
}

int64_t BroadcastLayout::span(size_t operand, int64_t block) const {
  int64_t inside = 1;
  for (size_t axis = sizes_.size(); axis-- > 0;) {
    if (inside >= block && operands_[operand].strides[axis] != 0) break;
    inside *= sizes_[axis];
  }
  return inside;
}

int64_t BroadcastLayout::row_offset(size_t operand, int64_t row) const {
  const std::vector<int64_t>& strides = operands_[operand].strides;
  int64_t offset = 0;
  for (size_t axis = sizes_.size() - 1; axis-- > 0;) {
    offset += row % sizes_[axis] * strides[axis];
    row /= sizes_[axis];
  }
  return offset;
}

void BroadcastLayout::expand(size_t operand, const void* data, size_t element_bytes,
                             int64_t first_row, int64_t rows, void* out) const {
  const auto inner = static_cast<size_t>(this->inner());
  const auto* from = static_cast<const std::byte*>(data);
  auto* to = static_cast<std::byte*>(out);
  const bool inside = varies_inside(operand);
  // Rows along the axis before the last one are evenly spaced.
  const bool single_axis = sizes_.size() < 2;
  const int64_t group = single_axis ? 1 : sizes_[sizes_.size() - 2];
  const int64_t stride = single_axis ? 0 : operands_[operand].strides[sizes_.size() - 2];
  const auto step = static_cast<size_t>(stride) * element_bytes;
  for (int64_t row = first_row; row < first_row + rows;) {
    const int64_t many = std::min(group - row % group, first_row + rows - row);
    const std::byte* source = from + static_cast<size_t>(row_offset(operand, row)) * element_bytes;
    if (inside) {
      for (int64_t i = 0; i < many; ++i) {
        std::memcpy(to + static_cast<size_t>(i) * inner * element_bytes,
                    source + static_cast<size_t>(i) * step, inner * element_bytes);
      }
    } else {
      repeat_elements(source, step, element_bytes, static_cast<size_t>(many), inner, to);
    }
    to += static_cast<size_t>(many) * inner * element_bytes;
    row += many;
  }
}

}  // namespace cornu::cpu
