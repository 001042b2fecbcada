// SPDX-License-Identifier: Apache-2.0
// Serialized graphs for other processes.
#pragma once

#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu {

// A graph's text, with values numbered in order of appearance, and its constants that are too large
// for the text (over 64 KiB), including those in bodies; the text refers to them by number.
struct PortableGraph {
  std::string text;
  std::vector<Tensor> constants;
};

PortableGraph to_portable(const Graph& graph);

// Reads the graph back; its states have names, but no variables. Throws InvalidArgument for text
// that isn't a graph, for ops that only passes create, or for constants whose types don't match the
// text.
Graph from_portable(const PortableGraph& portable);

}  // namespace cornu
