// SPDX-License-Identifier: Apache-2.0
// The parts of a kernel's text that are common to all elementwise kernels.
#pragma once

#include <string>
#include <vector>

#include "framework/backends/cuda/kernels/elementwise/body.h"
#include "framework/backends/cuda/kernels/elementwise/layout.h"

namespace cornu::cuda {

inline constexpr int kElementwiseBlock = 256;  // threads

class ElementwiseWriter {
 public:
  ElementwiseWriter(const ElementwiseBody& body, bool specialize);

  const BroadcastAxes& axes() const { return axes_; }
  // Number of elements that a thread loads together: 1, 2, 4 or 8; divides the innermost axis if
  // there are several axes.
  int width() const { return width_; }
  // A size or count: a constant in the text or, without specialization, an argument.
  std::string size(int64_t value);
  // "I": the index type.
  std::string index_type() const { return small_ ? "u32" : "u64"; }

  // Declares packs or scalars x0, x1, … of the operands for the `width` elements starting at index
  // `i`.
  std::string loads();
  // A call of body() for element v of them, with results in the packs y0, … and the sums s0, ….
  std::string call() const;
  // The same for a single element, from and to memory, for operands that are full or scalars.
  std::string call_of_one(const std::string& index) const;
  // Stores the packs y0, … at index `i`.
  std::string stores() const;

  // The complete text: `parameters` follow the operands.
  std::string kernel(const std::string& parameters, const std::string& statements) const;
  // The arguments: operands of the node (except its sums), then the sizes.
  std::vector<Argument> arguments(const std::vector<Argument>& more) const;

 private:
  enum class Form { Full, Inner, Constant };  // along a thread's elements
  Form form(size_t operand) const;
  int64_t divisible_by_width() const;
  std::string offset(size_t operand);

  const ElementwiseBody& body_;
  BroadcastAxes axes_;
  bool specialize_;
  bool small_;
  int width_ = 1;
  std::vector<int64_t> sizes_;
};

}  // namespace cornu::cuda
