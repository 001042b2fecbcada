// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/group_body.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cornu::passes {

bool is_fusible(const Graph& graph, const Node& node) {
  return node.op->traits.elementwise && node.outputs.size() == 1 &&
         graph.type(node.outputs[0]).shape.num_elements() > 0;
}

bool is_cheap(const Node& node) {
  constexpr std::array<std::string_view, 24> kCheap = {
      "abs",           "add",     "bitwise_and", "cast",        "equal",       "greater",
      "greater_equal", "less",    "less_equal",  "logical_and", "logical_not", "logical_or",
      "maximum",       "minimum", "multiply",    "negate",      "not_equal",   "relu",
      "select",        "sign",    "square",      "subtract",    "logical_xor", "bitwise_or"};
  return std::ranges::find(kCheap, node.op->name) != kCheap.end();
}

std::vector<TensorType> infer_body(std::span<const TensorType> inputs,
                                   const Attributes& attributes) {
  const Graph& body = attributes.get_graph("body");
  CORNU_ASSERT(body.inputs.size(), ==, inputs.size());
  std::vector<TensorType> types;
  for (ValueId id : body.outputs) types.push_back(body.type(id));
  return types;
}

void GroupBody::add(const Node& node) {
  Node copy = node;
  for (ValueId& id : copy.inputs) id = inner(id);
  for (ValueId& id : copy.outputs) id = inner_[id] = body_->add_value(graph_.type(id));
  body_->nodes.push_back(std::move(copy));
}

void GroupBody::add_output(ValueId id) {
  outputs_.push_back(id);
  body_->outputs.push_back(inner_.at(id));
}

Node GroupBody::finish(const OpDef& op, const std::string& scope) {
  Node result{.op = &op,
              .inputs = std::move(inputs_),
              .outputs = std::move(outputs_),
              .attributes = {},
              .scope = scope};
  result.attributes.set("body", std::shared_ptr<const Graph>(std::move(body_)));
  return result;
}

ValueId GroupBody::inner(ValueId id) {
  if (const auto it = inner_.find(id); it != inner_.end()) return it->second;
  const ValueId made = body_->add_value(graph_.type(id));
  const int32_t producer = producers_[static_cast<size_t>(id)];
  const Node* node = producer < 0 ? nullptr : &graph_.nodes[static_cast<size_t>(producer)];
  if (node && node->is("constant") && graph_.type(id).shape.num_elements() == 1) {
    Node copy = *node;  // an immediate of the kernel
    copy.outputs = {made};
    body_->nodes.push_back(std::move(copy));
  } else {
    body_->inputs.push_back(made);
    inputs_.push_back(id);
  }
  return inner_[id] = made;
}

}  // namespace cornu::passes
