// SPDX-License-Identifier: Apache-2.0
// Sums of products by index notation.
#pragma once

#include <string_view>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// Einstein's summation: a letter for each axis of each operand, those of the result after "->"
// (without it, those that appear once, in alphabetical order). Axes of a letter are equal or 1; a
// letter the result lacks is summed over; one that an operand has twice is its diagonal; "..." are
// axes that broadcast.
//
//   einsum("bij,bjk->bik", {a, b})   products of matrices
//   einsum("ii", {a})                a trace
//
// Dtypes are as of matmul. Operands are joined from the left, each pair as one product of matrices.
// InvalidArgument, naming the subscripts, when they don't fit.
Tensor einsum(std::string_view subscripts, const std::vector<Tensor>& operands);
template <class... T>
requires(sizeof...(T) > 0 && (std::is_convertible_v<const T&, Tensor> && ...)) Tensor
    einsum(std::string_view subscripts, const T&... operands) {
  return einsum(subscripts, std::vector<Tensor>{Tensor(operands)...});
}

}  // namespace cornu::ops
