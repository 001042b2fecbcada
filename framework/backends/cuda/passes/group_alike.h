// SPDX-License-Identifier: Apache-2.0
// Merges many small elementwise nodes into one launch: an optimizer's updates of all variables,
// casts of all weights.
#pragma once

#include "framework/graph/graph.h"

namespace cornu::cuda {

// Nodes that perform the same computation on different arrays become "fused_group" nodes: the
// inputs of all members, then the outputs, with the number of members as "members" and the first
// one's graph as "body". Operands of a member have as many elements as its results, or one. Nodes
// whose results are only outputs of the graph move to its end; others, whose operands are the
// graph's inputs and states, to its beginning.
Graph group_alike(Graph graph);

}  // namespace cornu::cuda
