// SPDX-License-Identifier: Apache-2.0
// Operations whose result's shape depends on values. They take values only: under a trace and on
// placeholders they are FailedPrecondition, which says what to use there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// For each axis, the indices of the elements that aren't 0, int32, in row-major order.
std::vector<Tensor> nonzero(const Tensor& x);
// The same of a condition.
std::vector<Tensor> where(const Tensor& condition);
// The slices of x whose place in `mask` (bool, of x's leading axes) holds, one after the other.
Tensor boolean_mask(const Tensor& x, const Tensor& mask);

struct UniqueOptions {
  bool sorted = true;  // false: in the order of first appearance
  bool return_index = false;
  bool return_inverse = false;
  bool return_counts = false;
  std::optional<int64_t> axis = {};  // of the slices that are compared; None: all elements
  // How many are given, whatever their number is: the last ones are dropped, or `fill_value` is
  // added. Then it works under a trace too.
  std::optional<int64_t> size = {};
  double fill_value = 0;
};

struct UniqueResult {
  Tensor values;
  Tensor index;    // the first place of each in x, int32 (1 for added ones); undefined unless asked
  Tensor inverse;  // which of them each element of x is, int32
  Tensor counts;   // how often each comes, int32
};

// The different elements of x, sorted.
Tensor unique(const Tensor& x);
UniqueResult unique(const Tensor& x, const UniqueOptions& options);

// Is each element of x1 among those of x2? bool, of x1's shape. Works anywhere.
Tensor isin(const Tensor& x1, const Tensor& x2, bool assume_unique = false, bool invert = false);

namespace internal {
// FailedPrecondition, naming `who` and saying `instead`, for a tensor without a value.
void require_value(const Tensor& x, std::string_view who, std::string_view instead);
}  // namespace internal

}  // namespace cornu::ops
