// SPDX-License-Identifier: Apache-2.0
// Gradients of a graph whose values are known, by the vjps of its nodes.
#pragma once

#include <vector>

#include "framework/graph/graph.h"

namespace cornu {

// The gradients for one op's inputs. Unimplemented, naming the op, when it has none defined.
std::vector<Tensor> apply_vjp(const OpDef& op, const VjpContext& context);

// By value: does it depend on one of the given values by ops that gradients pass?
std::vector<bool> dependent_values(const Graph& graph, const std::vector<ValueId>& on);

// By value: its gradient, of the graph's outputs with `of_outputs` as their gradients (undefined:
// zero). `values` are the graph's values; gradients of what isn't `dependent` aren't computed.
std::vector<Tensor> graph_vjp(const Graph& graph, const std::vector<Tensor>& values,
                              const std::vector<Tensor>& of_outputs,
                              const std::vector<bool>& dependent);

}  // namespace cornu
