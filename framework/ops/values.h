// SPDX-License-Identifier: Apache-2.0
// Operations whose result's shape depends on values. They only accept values: under a trace and on
// placeholders they throw FailedPrecondition, with advice on what to use instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// For each axis, the indices of the non-zero elements, int32, in row-major order.
std::vector<Tensor> nonzero(const Tensor& x);
// Likewise for a condition.
std::vector<Tensor> where(const Tensor& condition);
// The slices of x at positions where `mask` (bool, with x's leading axes) is true, concatenated.
Tensor boolean_mask(const Tensor& x, const Tensor& mask);

struct UniqueOptions {
  bool sorted = true;  // false: in the order of first appearance
  bool return_index = false;
  bool return_inverse = false;
  bool return_counts = false;
  std::optional<int64_t> axis = {};  // axis of the slices to compare; None: compare all elements
  // A fixed number of results: excess ones are dropped, missing ones are filled with `fill_value`.
  // Makes unique usable under a trace.
  std::optional<int64_t> size = {};
  double fill_value = 0;
};

struct UniqueResult {
  Tensor values;
  Tensor index;    // first position of each in x, int32 (1 for fillers); undefined unless requested
  Tensor inverse;  // for each element of x, its index in `values`, int32
  Tensor counts;   // number of occurrences, int32
};

// The unique elements of x, sorted.
Tensor unique(const Tensor& x);
UniqueResult unique(const Tensor& x, const UniqueOptions& options);

// Whether each element of x1 is among those of x2: bool, with x1's shape. Works anywhere.
Tensor isin(const Tensor& x1, const Tensor& x2, bool assume_unique = false, bool invert = false);

namespace internal {
// Throws FailedPrecondition, naming `who` and stating `instead`, for a tensor without a value.
void require_value(const Tensor& x, std::string_view who, std::string_view instead);
}  // namespace internal

}  // namespace cornu::ops
