// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct EinsumDenseOptions {
  std::string equation = {};       // "ab,bc->ac"; must be given
  PartialShape output_shape = {};  // without the batch; must be given
  cornu::Activation activation = {};
  std::string bias_axes = {};  // letters of the output's axes that the bias has; empty: no bias
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// keras.layers.EinsumDense: activation(einsum(equation, x, kernel) + bias).
//
//   layers::EinsumDense({.equation = "abc,cd->abd", .output_shape = {kUnknown, 64},
//                        .bias_axes = "d"})
//
// The equation is "x,kernel->y" in letters, with "..." at the front or at the end of x and y for
// axes that it doesn't name. InvalidArgument for another form, and for sizes that don't fit.
// Weights: kernel, of the axes that the equation gives it; bias, of y's axes from the first of
// bias_axes on, 1 where bias_axes hasn't got them.
class EinsumDense : public LayerHandle {
 public:
  explicit EinsumDense(const EinsumDenseOptions& options = {});
  static EinsumDense from_config(const Json& config);
  // FailedPrecondition before the layer is built, NotFound for one it was made without.
  Variable kernel() const { return weight("kernel"); }
  Variable bias() const { return weight("bias"); }
};

}  // namespace cornu::layers
