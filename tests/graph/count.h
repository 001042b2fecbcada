// SPDX-License-Identifier: Apache-2.0
// Helpers to find nodes in graphs, for tests of passes.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

#include "framework/graph/graph.h"

namespace cornu::test {

// Returns the number of nodes that apply `op`.
inline size_t count(const Graph& graph, std::string_view op) {
  size_t found = 0;
  for (const Node& node : graph.nodes) found += node.is(op) ? 1 : 0;
  return found;
}

// Returns the only node that applies `op`.
inline const Node& only(const Graph& graph, std::string_view op) {
  REQUIRE(count(graph, op) == 1);
  const auto is_it = [&](const Node& node) { return node.is(op); };
  return *std::find_if(graph.nodes.begin(), graph.nodes.end(), is_it);
}

}  // namespace cornu::test
