// SPDX-License-Identifier: Apache-2.0
// Many small elementwise nodes become one launch: an optimizer's updates of all variables.
#pragma once

#include "framework/graph/graph.h"

namespace cornu::cuda {

// Nodes that compute the same of different arrays, whose results nothing else reads, move to the
// end of the graph and become "fused_group" nodes: the inputs of all members, then the outputs,
// with the members' number as "members" and the first one's graph as "body". Operands of a member
// have as many elements as its results, or one.
Graph group_updates(Graph graph);

}  // namespace cornu::cuda
