// SPDX-License-Identifier: Apache-2.0
// What a step does with all replicas, for workers to compare.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "framework/graph/function.h"

namespace cornu::distribute {

// Calls visit(graph, node) for the nodes of a graph, and those of branches and loops in it.
template <class Visit>
void each_node(const Graph& graph, const Visit& visit) {
  for (const Node& node : graph.nodes) {
    visit(graph, node);
    for (const auto& [name, value] : node.attributes.entries()) {
      const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&value);
      if (inner) each_node(**inner, visit);
    }
  }
}

// A graph's collectives in their order, those of branches and loops too: kinds, dtypes and shapes,
// as text.
std::vector<std::string> collectives_in(const Graph& graph);

// Hashes of these, made once for each function that lives.
class CollectiveHashes {
 public:
  uint64_t of(const std::shared_ptr<const CompiledFunction>& function);

 private:
  std::map<std::weak_ptr<const CompiledFunction>, uint64_t, std::owner_less<>> known_;
};

}  // namespace cornu::distribute
