// SPDX-License-Identifier: Apache-2.0
// Gradients of a graph whose values are known, computed by the vjps of its nodes.
#pragma once

#include <vector>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/threads.h"
#include "framework/graph/graph.h"

namespace cornu {

// The gradients of one op's inputs. Throws Unimplemented, naming the op, when it has no vjp.
std::vector<Tensor> apply_vjp(const OpDef& op, const VjpContext& context);

// By value: whether it depends on one of the given values through differentiable ops.
std::vector<bool> dependent_values(const Graph& graph, const std::vector<ValueId>& on);

// By value: its gradient, given the gradients `of_outputs` of the graph's outputs (undefined:
// zero). `values` are the graph's values; only gradients of `dependent` values are computed.
std::vector<Tensor> graph_vjp(const Graph& graph, const std::vector<Tensor>& values,
                              const std::vector<Tensor>& of_outputs,
                              const std::vector<bool>& dependent);

// The same values, and mask, under an identity of their own: a tape that watches the result doesn't
// see other uses of `x`, such as a second operand that is the same tensor.
Tensor with_own_identity(const Tensor& x);

// Calls `f`, which consists of ops, on `operands`, and returns the gradients of those that are
// `needed`, in order, given the gradients `of_outputs` of its results (undefined: zero).
// `unconnected` applies to operands that no such result depends on.
std::vector<Tensor> gradients_through(
    FunctionRef<std::vector<Tensor>(const std::vector<Tensor>&)> f,
    const std::vector<Tensor>& operands, const std::vector<Tensor>& of_outputs,
    const std::vector<bool>& needed, UnconnectedGradients unconnected);

// By operand: the gradients of those that are `needed`, given in order; undefined for the others.
std::vector<Tensor> by_operand(const std::vector<Tensor>& gradients,
                               const std::vector<bool>& needed);

// The gradients_through a graph.
std::vector<Tensor> replayed_gradients(const Graph& graph, const std::vector<Tensor>& operands,
                                       const std::vector<Tensor>& of_outputs,
                                       const std::vector<bool>& needed,
                                       UnconnectedGradients unconnected);

}  // namespace cornu
