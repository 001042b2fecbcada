// SPDX-License-Identifier: Apache-2.0
// How the operands of a tile program are broadcast to the shape of its outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/shape.h"

namespace cornu::cpu {

// The broadcast shape, with neighboring axes merged where every operand treats them alike, and
// without axes of size 1.
class BroadcastLayout {
 public:
  BroadcastLayout(const Shape& out, std::span<const Shape> operands);

  int64_t size() const { return size_; }  // elements of the broadcast shape
  int64_t inner() const { return sizes_.empty() ? 1 : sizes_.back(); }  // the last axis
  int64_t rows() const { return inner() == 0 ? 0 : size_ / inner(); }
  // Whether rows are along a single axis, so that an operand's elements for them are evenly spaced.
  bool is_matrix() const { return sizes_.size() == 2; }
  // The largest number of elements, at most `limit` (>= inner()), that is a whole number of inner
  // axes.
  int64_t block(int64_t limit) const;

  bool is_full(size_t operand) const { return operands_[operand].full; }
  bool is_scalar(size_t operand) const { return operands_[operand].scalar; }
  bool is_partial(size_t operand) const { return !is_full(operand) && !is_scalar(operand); }
  // Whether the operand varies along the last axis.
  bool varies_inside(size_t operand) const { return operands_[operand].strides.back() != 0; }
  // Whether the operand is the same in every block of `block` elements (a value of block()).
  bool is_periodic(size_t operand, int64_t block) const;
  // Elements, a whole number of blocks, within which the operand is periodic: those of a (batch,
  // height, width, channels) array where the operand is (batch, 1, 1, channels) and a block is some
  // channels.
  int64_t span(size_t operand, int64_t block) const;

  // The offset of the operand's elements for this row (a single one if it is constant there).
  int64_t row_offset(size_t operand, int64_t row) const;
  // Writes the operand's elements for `rows` rows into `out`; may write up to 64 bytes after them.
  void expand(size_t operand, const void* data, size_t element_bytes, int64_t first_row,
              int64_t rows, void* out) const;

 private:
  struct Operand {
    bool full = true;
    bool scalar = true;
    std::vector<int64_t> strides;  // by axis, in elements; 0 where it is broadcast
  };

  int64_t size_ = 1;
  std::vector<int64_t> sizes_;
  std::vector<Operand> operands_;
};

}  // namespace cornu::cpu
