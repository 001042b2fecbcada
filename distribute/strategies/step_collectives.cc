// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/step_collectives.h"

#include <fmt/core.h>

#include <span>

#include "framework/core/strings.h"
#include "framework/io/hash.h"

namespace cornu::distribute {
namespace {

constexpr size_t kMany = 256;

std::string text_of_call(const Graph& graph, const Node& node) {
  const Attributes& attributes = node.attributes;
  if (attributes.find("gathers")) {
    return fmt::format("all_gather along axis {} of {} {}", attributes.get_int("axis"),
                       graph.type(node.inputs.front()).dtype, attributes.get_shape("gathers"));
  }
  std::vector<std::string> types;
  for (const ValueId input : node.inputs) {
    types.push_back(fmt::format("{} {}", graph.type(input).dtype, graph.type(input).shape));
  }
  const char* reduce = attributes.find("reduce") ? attributes.get_string("reduce").c_str() : "";
  return fmt::format("{} ({}) of {}", node.op->name, reduce, join(types, ", "));
}

}  // namespace

std::vector<std::string> collectives_in(const Graph& graph) {
  std::vector<std::string> found;
  each_node(graph, [&](const Graph& of, const Node& node) {
    if (node.op->traits.collective) found.push_back(text_of_call(of, node));
  });
  return found;
}

uint64_t CollectiveHashes::of(const std::shared_ptr<const CompiledFunction>& function) {
  if (const auto known = known_.find(function); known != known_.end()) return known->second;
  if (known_.size() >= kMany) {
    std::erase_if(known_, [](const auto& entry) { return entry.first.expired(); });
  }
  const std::string text = join(collectives_in(function->graph), "\n");
  const std::string hash = hash_of(std::as_bytes(std::span(text)), HashAlgorithm::Sha256);
  return known_[function] = std::stoull(hash.substr(0, 16), nullptr, 16);
}

}  // namespace cornu::distribute
