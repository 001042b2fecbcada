// SPDX-License-Identifier: Apache-2.0
// Makes labels and predictions compatible. Errors don't say where they occur: the loss or metric
// adds its name.
#pragma once

#include "framework/core/tensor.h"

namespace cornu {

// Gives y_true and y_pred the same rank, like Keras's losses and metrics: a trailing axis of size 1
// that only one of them has is removed, or added to the other if that has a single axis.
struct Matched {
  Tensor y_true;
  Tensor y_pred;
};
Matched squeeze_or_expand_to_same_rank(const Tensor& y_true, const Tensor& y_pred,
                                       bool expand_rank_1 = true);

// As above, also with a common floating dtype (y_pred's; float32 for integers). Throws
// InvalidArgument, with a message ending in `advice`, when shapes still differ.
Matched operands(const Tensor& y_true, const Tensor& y_pred,
                 const char* advice = "Reshape one of them.");

// Returns labels as class indices, with y_pred's shape excluding the last axis, and a signed
// integer dtype. Throws InvalidArgument when y_true doesn't have that shape, optionally followed by
// an axis of size 1.
Tensor class_indices(const Tensor& y_true, const Tensor& y_pred);

// Appends axes of size 1 up to rank `rank`.
Tensor with_rank(const Tensor& x, int64_t rank);

// Returns the product of a mask and weights in this dtype; either may be undefined.
Tensor masked_weights(const Tensor& mask, const Tensor& sample_weight,
                      DType dtype = DType::Float32);

// The dtype of the computation when this dtype is requested: floating point with at least 32 bits.
DType computed_in(DType dtype);

// Returns `x` with its values rounded to this dtype, in a dtype suited for summing: 16-bit floats
// become float32, since they would overflow.
Tensor summable(const Tensor& x, DType dtype);

}  // namespace cornu
