// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/single_op.h"

#include <utility>

namespace cornu {

Graph single_op_graph(const KernelSpec& spec) {
  Graph graph;
  for (const TensorType& type : spec.inputs) graph.inputs.push_back(graph.add_value(type));
  Node node{.op = &spec.op,
            .inputs = graph.inputs,
            .outputs = {},
            .attributes = spec.attributes,
            .scope = {}};
  for (const TensorType& type : spec.outputs) node.outputs.push_back(graph.add_value(type));
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

}  // namespace cornu
