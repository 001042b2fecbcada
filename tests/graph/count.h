// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "framework/graph/graph.h"

namespace cornu::test {

// How many nodes of a graph apply `op`.
inline size_t count(const Graph& graph, std::string_view op) {
  size_t found = 0;
  for (const Node& node : graph.nodes) found += node.is(op) ? 1 : 0;
  return found;
}

}  // namespace cornu::test
