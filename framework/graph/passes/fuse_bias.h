// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions that apply a bias and an activation themselves: rewrite rules
// for backends that have kernels for them.
//
//   matmul_bias_act(a, b, bias) {transpose_a, transpose_b, activation}
//   conv_bias_act(x, filter, bias[, residual]) {conv's attributes, activation}
//
// `activation` is "", "relu" or, if fuse_ceiling is among the rules, "relu6". It is applied last,
// to the sum of all terms. These ops have no vjp, since passes run after differentiation.
#pragma once

#include <functional>
#include <string_view>

#include "framework/graph/passes/rewriter.h"

namespace cornu::passes {

// The definitions, registered on first use.
const OpDef& bias_op(std::string_view name);

// Each rule looks at one node and its neighbors, and returns whether it has changed the graph. (For
// Rewriter::apply.)
class BiasFusion {
 public:
  // `fits`: whether there are kernels for a dtype.
  BiasFusion(Rewriter& graph, std::function<bool(DType)> fits)
      : graph_(graph), fits_(std::move(fits)) {}

  // add(matmul(a, b), bias) and add(conv(x, filter), bias), where bias is a vector.
  bool fuse_bias(int index);
  // relu(matmul_bias_act), relu(conv_bias_act).
  bool fuse_activation(int index);
  // minimum(relu, 6) of either.
  bool fuse_ceiling(int index);
  // relu(add(conv_bias_act, residual)).
  bool fuse_residual(int index);

 private:
  // The node with a bias and this activation that produces a value, if nothing else reads the
  // value.
  const Node* with_bias(ValueId id, std::string_view activation) const;
  void replace(int index, std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
               const char* activation);

  Rewriter& graph_;
  std::function<bool(DType)> fits_;
};

}  // namespace cornu::passes
