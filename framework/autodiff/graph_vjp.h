// SPDX-License-Identifier: Apache-2.0
// Gradients of a graph whose values are known, computed by the vjps of its nodes.
#pragma once

#include <vector>

#include "framework/autodiff/gradient_tape.h"
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

// Replays a graph on `operands`, and returns the gradients of those that need one, in order, given
// the gradients `of_outputs` of its outputs (undefined: zero). `unconnected` applies to operands
// that no such output depends on.
std::vector<Tensor> replayed_gradients(const Graph& graph, const std::vector<Tensor>& operands,
                                       const std::vector<Tensor>& of_outputs,
                                       const std::vector<bool>& needed,
                                       UnconnectedGradients unconnected);

}  // namespace cornu
