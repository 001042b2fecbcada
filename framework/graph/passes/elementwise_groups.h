// SPDX-License-Identifier: Apache-2.0
// Which nodes walk over memory together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::passes {

// A sum over all axes of a shape but perhaps the last (axes of size 1 don't count): how many sums
// it makes, side by side. None where it sums over others, or nothing at all.
std::optional<int64_t> summed_columns(const Shape& shape, const std::vector<int64_t>& axes);

// Elementwise nodes of one shape that are connected or read the same values, with the sums over
// their columns that "fused" nodes can make on the way. Each such node of the graph is in one group
// (alone, where nothing joins it), each group in the order of the graph. No path leaves a group and
// comes back.
std::vector<std::vector<int>> elementwise_groups(const Graph& graph);

}  // namespace cornu::passes
