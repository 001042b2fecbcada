// SPDX-License-Identifier: Apache-2.0
// Graphs on their way to another process.
#pragma once

#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu {

// A graph's text, in which values are numbered as they come, and the constants that are too large
// for it (over 64 KiB), also those of bodies, which stand there by their numbers.
struct PortableGraph {
  std::string text;
  std::vector<Tensor> constants;
};

PortableGraph to_portable(const Graph& graph);

// The graph again; its states have names, and no variables. InvalidArgument for a text that is no
// graph's, for ops that passes alone make, or for constants of other types than it has for them.
Graph from_portable(const PortableGraph& portable);

}  // namespace cornu
