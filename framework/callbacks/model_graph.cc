// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/model_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "framework/core/proto_wire.h"

namespace cornu::callbacks {
namespace {

using NodeNames = std::unordered_map<const KerasNode*, std::string>;

NodeNames names_of(const FunctionalGraph& graph) {
  NodeNames names;
  std::set<std::string> taken;
  for (const auto& layer : graph.layers()) taken.insert(layer->name());
  std::set<const Layer*> seen;
  auto calls = graph.nodes();
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a->index() < b->index(); });
  for (const auto& node : calls) {
    std::string name = node->layer()->name();
    if (!seen.insert(node->layer().get()).second) {
      int number = 1;
      while (!taken.insert(fmt::format("{}_{}", name, number)).second) ++number;
      name = fmt::format("{}_{}", name, number);
    }
    names.emplace(node.get(), std::move(name));
  }
  return names;
}

// The "_output_shapes" attribute, a list of tensorflow.TensorShapeProto.
std::string shapes_of(const KerasNode& node) {
  std::string list;
  for (const auto& [dtype, shape] : node.output_types()) {
    std::string dims;
    for (const int64_t size : shape) {
      std::string dim;
      wire::put_int(dim, 1, size);  // kUnknown is -1 in the proto, too
      wire::put_bytes(dims, 2, dim);
    }
    wire::put_bytes(list, 7, dims);
  }
  std::string value;
  wire::put_bytes(value, 1, list);
  std::string entry;
  wire::put_bytes(entry, 1, "_output_shapes");
  wire::put_bytes(entry, 2, value);
  return entry;
}

}  // namespace

std::string model_graph(const FunctionalGraph& graph) {
  const NodeNames names = names_of(graph);
  std::string bytes;
  for (const auto& node : graph.nodes()) {
    std::string def;
    wire::put_bytes(def, 1, names.at(node.get()));
    wire::put_bytes(def, 2, node->layer()->class_name());
    for (const Tensor& operand : node->operands()) {
      const std::string& from = names.at(keras_node(operand).get());
      const int64_t output = operand.symbol_id();
      wire::put_bytes(def, 3, output == 0 ? from : fmt::format("{}:{}", from, output));
    }
    wire::put_bytes(def, 5, shapes_of(*node));
    wire::put_bytes(bytes, 1, def);
  }
  return bytes;
}

}  // namespace cornu::callbacks
