// SPDX-License-Identifier: Apache-2.0
// How the operands of a tile program lie under the shape of its outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/shape.h"

namespace cornu::cpu {

// The broadcast shape with neighbouring axes joined where every operand treats them alike, and axes
// of size 1 left out.
class BroadcastLayout {
 public:
  BroadcastLayout(const Shape& out, std::span<const Shape> operands);

  int64_t size() const { return size_; }  // elements of the broadcast shape
  int64_t inner() const { return sizes_.empty() ? 1 : sizes_.back(); }  // the last axis
  int64_t rows() const { return inner() == 0 ? 0 : size_ / inner(); }
  // The most elements, at most `limit` (>= inner()), that a whole number of inner axes holds.
  int64_t block(int64_t limit) const;

  bool is_full(size_t operand) const { return operands_[operand].full; }
  bool is_scalar(size_t operand) const { return operands_[operand].scalar; }
  bool is_partial(size_t operand) const { return !is_full(operand) && !is_scalar(operand); }
  // Does the operand vary along the last axis?
  bool varies_inside(size_t operand) const { return operands_[operand].strides.back() != 0; }
  // Is the operand the same in every block of `block` elements (a value of block())?
  bool is_periodic(size_t operand, int64_t block) const;

  // Where the operand's elements for this row begin (for all of them, if it is constant there).
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
