// SPDX-License-Identifier: Apache-2.0
// Moves nodes of a graph into the body of a single node.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::passes {

// Whether a node can be part of a kernel that computes each element of its output independently.
bool is_fusible(const Graph& graph, const Node& node);

// Whether an operation takes less time than reading an operand from memory.
bool is_cheap(const Node& node);

// Type inference for an op whose attribute "body" is a graph.
std::vector<TensorType> infer_body(std::span<const TensorType> inputs,
                                   const Attributes& attributes);

class GroupBody {
 public:
  GroupBody(const Graph& graph, const std::vector<int32_t>& producers)
      : graph_(graph), producers_(producers) {}

  // Copies a node into the body. The nodes whose values it reads must be added before it:
  // everything else it reads becomes an input, or a constant of the body.
  void add(const Node& node);
  // Makes a value of a previously added node an output.
  void add_output(ValueId id);

  Node finish(const OpDef& op, const std::string& scope);

 private:
  ValueId inner(ValueId id);

  const Graph& graph_;
  const std::vector<int32_t>& producers_;
  std::shared_ptr<Graph> body_ = std::make_shared<Graph>();
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::unordered_map<ValueId, ValueId> inner_;
};

}  // namespace cornu::passes
