// SPDX-License-Identifier: Apache-2.0
// Labels and predictions made to fit each other. Errors don't say where: the loss or metric adds
// its name.
#pragma once

#include "framework/core/tensor.h"

namespace cornu {

// y_true and y_pred with one rank, as Keras's losses and metrics match them: a last axis of 1 that
// only one of them has is taken away, or given to the other one when that has a single axis.
struct Matched {
  Tensor y_true;
  Tensor y_pred;
};
Matched squeeze_or_expand_to_same_rank(const Tensor& y_true, const Tensor& y_pred,
                                       bool expand_rank_1 = true);

// The same, of one floating dtype (y_pred's; float32 for integers). InvalidArgument, ending in
// `advice`, when shapes still differ.
Matched operands(const Tensor& y_true, const Tensor& y_pred,
                 const char* advice = "Reshape one of them.");

// Labels as class indices: of y_pred's shape without its last axis, of a signed integer dtype.
// InvalidArgument when y_true has neither that shape nor a 1 after it.
Tensor class_indices(const Tensor& y_true, const Tensor& y_pred);

// Axes of 1 after the last, up to `rank`.
Tensor with_rank(const Tensor& x, int64_t rank);

// The product of a mask and weights, either of which may be undefined, in this dtype.
Tensor masked_weights(const Tensor& mask, const Tensor& sample_weight,
                      DType dtype = DType::Float32);

// What is computed in where this dtype was asked for: floating, of at least 32 bits.
DType computed_in(DType dtype);

// The values that `x` has in this dtype, as sums are made of them: those of 16 bits would overflow,
// and are of 32.
Tensor summable(const Tensor& x, DType dtype);

}  // namespace cornu
