// SPDX-License-Identifier: Apache-2.0
// Einstein summation.
#pragma once

#include <string_view>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// Sums of products in index notation: one letter per axis of each operand, with those of the result
// after "->" (if omitted: the letters that appear once, in alphabetical order). Axes with the same
// letter must have equal sizes, or size 1. Letters that the result lacks are summed over; a letter
// that an operand has twice selects its diagonal; "..." represents axes that broadcast.
//
//   einsum("bij,bjk->bik", {a, b})   matrix products
//   einsum("ii", {a})                trace
//
// Dtypes follow matmul. Operands are combined from left to right, each pair as one matrix product.
// Throws InvalidArgument, naming the subscripts, when they don't fit.
Tensor einsum(std::string_view subscripts, const std::vector<Tensor>& operands);
template <class... T>
requires(sizeof...(T) > 0 && (std::is_convertible_v<const T&, Tensor> && ...)) Tensor
    einsum(std::string_view subscripts, const T&... operands) {
  return einsum(subscripts, std::vector<Tensor>{Tensor(operands)...});
}

}  // namespace cornu::ops
