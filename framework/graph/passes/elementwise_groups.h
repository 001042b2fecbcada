// SPDX-License-Identifier: Apache-2.0
// Chooses the nodes that are computed together in one loop over memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/graph/graph.h"
#include "framework/graph/passes/pass.h"

namespace cornu::passes {

// The number of columns that remain of a sum over `axes`; nullopt unless it sums over all axes, or
// all but the last (axes of size 1 don't count).
std::optional<int64_t> summed_columns(const Shape& shape, const std::vector<int64_t>& axes);

// A sum that a group can compute, with few enough columns for a thread's memory.
bool is_column_sum(const Graph& graph, const Node& node, const FusionChoices& choices);

// Groups elementwise nodes of the same shape that are connected or read the same values, together
// with the sums over their columns that "fused" nodes can compute on the way. Each such node of the
// graph is in exactly one group (possibly alone); each group is in graph order. No path leaves a
// group and comes back.
std::vector<std::vector<int>> elementwise_groups(const Graph& graph, const FusionChoices& choices);

}  // namespace cornu::passes
