// SPDX-License-Identifier: Apache-2.0
// Many small elementwise nodes become one launch: an optimizer's updates of all variables, casts of
// all weights.
#pragma once

#include "framework/graph/graph.h"

namespace cornu::cuda {

// Nodes that compute the same of different arrays become "fused_group" nodes: the inputs of all
// members, then the outputs, with the members' number as "members" and the first one's graph as
// "body". Operands of a member have as many elements as its results, or one. Those whose results
// nothing else reads move to the end of the graph; others, whose operands are the graph's inputs
// and states, to its beginning.
Graph group_alike(Graph graph);

}  // namespace cornu::cuda
