// SPDX-License-Identifier: Apache-2.0
// Computations that depend only on unwritten variables: products with them move into weights, and
// they are computed once for many runs.
#include <algorithm>
#include <optional>
#include <set>

#include "framework/graph/passes/pass.h"
#include "framework/graph/passes/placement.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::passes {
namespace {

// The maximum size in bytes of a prepared value that is larger than everything it is computed from.
constexpr size_t kGrowth = size_t{64} << 10;
// Anything smaller isn't worth checking versions for.
constexpr size_t kWorth = size_t{1} << 10;

// By value: whether it depends only on constants and on variables that the graph doesn't write.
// False for nodes that may throw, which must do so in each run.
std::vector<bool> unchanging_values(const Graph& graph) {
  std::vector<bool> unchanging(graph.types.size());
  for (const StateBinding& state : graph.states) {
    unchanging[static_cast<size_t>(state.in)] = state.in == state.out;
  }
  for (const Node& node : graph.nodes) {
    if (must_run(node) || node.traits().checks_values) continue;
    const bool all = std::all_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId id) { return unchanging[static_cast<size_t>(id)]; });
    for (ValueId id : node.outputs) unchanging[static_cast<size_t>(id)] = all;
  }
  return unchanging;
}

// Whether a node produces marked values: either all of its values are marked, or none.
bool makes(const Node& node, const std::vector<bool>& marked) {
  return !node.outputs.empty() && marked[static_cast<size_t>(node.outputs[0])];
}

// Moves factors of output channels into weights: s * conv(x, w) is conv(x, s * w).
class ScaleFolding {
 public:
  explicit ScaleFolding(const Graph& graph)
      : unchanging_(unchanging_values(graph)), graph_(graph) {}

  Graph run() && {
    graph_.apply([&](int index) { return distribute(index) || fold(index); });
    return graph_.finish();
  }

 private:
  bool is_unchanging(ValueId id) const { return unchanging_[static_cast<size_t>(id)]; }

  // Matches a node with one operand that is an unchanging number per channel, and another one that
  // is computed by `op` and read by nothing else.
  bool match(const Node& node, std::string_view op, ValueId& channels, const Node*& other) const {
    const TensorType& type = graph_.type(node.outputs[0]);
    if (type.dtype != DType::Float32 && type.dtype != DType::Float64) return false;
    if (type.shape.empty()) return false;
    for (size_t side = 0; side < 2; ++side) {
      channels = node.inputs[side];
      const ValueId value = node.inputs[1 - side];
      if (!is_unchanging(channels) || graph_.shape(channels) != Shape{type.shape.back()} ||
          is_unchanging(value) || graph_.uses(value) != 1 || graph_.type(value) != type) {
        continue;
      }
      other = graph_.producer(value, op);
      if (other) return true;
    }
    return false;
  }

  // Overload where the other operand is a product whose output channels are the last axis of its
  // unchanging second operand.
  bool match_product(const Node& node, ValueId& channels, const Node*& product) const {
    if (!match(node, "conv", channels, product) && !match(node, "matmul", channels, product)) {
      return false;
    }
    const ValueId weights = product->inputs[1];
    if (!is_unchanging(weights)) return false;
    return product->is("conv") ||
           (graph_.shape(weights).rank() == 2 && !product->attributes.get_bool("transpose_b"));
  }

  ValueId insert(int place, const OpDef& op, std::vector<ValueId> inputs,
                 const Attributes& attributes = {}) {
    const bool unchanging =
        std::all_of(inputs.begin(), inputs.end(), [&](ValueId id) { return is_unchanging(id); });
    const auto made = graph_.insert(place, op, std::move(inputs), attributes)[0];
    unchanging_.resize(static_cast<size_t>(made) + 1);
    unchanging_.back() = unchanging;
    return made;
  }
  ValueId insert(int place, const char* op, ValueId a, ValueId b) {
    return insert(place, OpRegistry::global().at(op), {a, b});
  }

  // s * (linear + b) becomes s * linear + s * b.
  bool distribute(int index) {
    const Node& node = graph_.node(index);
    ValueId scale, bias;
    const Node *sum, *linear;
    if (!node.is("multiply") || !match(node, "add", scale, sum)) return false;
    if (!match_product(*sum, bias, linear)) return false;
    const ValueId scaled = insert(index, "multiply", linear->outputs[0], scale);
    const ValueId shifted = insert(index, "multiply", bias, scale);
    replace(node.outputs[0], insert(index, "add", scaled, shifted));
    return true;
  }

  bool fold(int index) {
    const Node& node = graph_.node(index);
    ValueId scale;
    const Node* linear;
    if (!node.is("multiply") || !match_product(node, scale, linear)) return false;
    std::vector<ValueId> inputs = linear->inputs;
    inputs[1] = insert(index, "multiply", inputs[1], scale);
    replace(node.outputs[0], insert(index, *linear->op, std::move(inputs), linear->attributes));
    return true;
  }

  void replace(ValueId old, ValueId made) {
    graph_.replace(old, made);
    graph_.remove_unused(old);
  }

  std::vector<bool> unchanging_;  // by value
  Rewriter graph_;
};

// By value: whether it is prepared, if something else needs it. False if it depends only on
// constants, shares a variable's memory, or takes much more memory than what it is computed from.
std::vector<bool> prepared_values(const Graph& graph, const std::vector<bool>& unchanging) {
  std::vector<bool> varies(graph.types.size());  // depends on variables
  std::vector<bool> prepared(graph.types.size());
  // By value: `origins` is the value (possibly itself) that it is computed from, apart from
  // constants, and that isn't larger; `told` is the least number of bytes that determine a value.
  // For int4 numbers, stored one per byte, that is half of their bytes.
  std::vector<ValueId> origins(graph.types.size());
  std::vector<size_t> told(graph.types.size());
  for (size_t i = 0; i < told.size(); ++i) {
    origins[i] = static_cast<ValueId>(i);
    told[i] = graph.types[i].bytes();
  }
  for (const StateBinding& state : graph.states) varies[static_cast<size_t>(state.in)] = true;
  for (const Node& node : graph.nodes) {
    if (!makes(node, unchanging)) continue;
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId id) { return varies[static_cast<size_t>(id)]; });
    std::set<ValueId> given_by;
    ValueId origin = 0;  // the operand that varies
    size_t given = 0, made = 0, varying = 0;
    for (ValueId id : node.inputs) {
      const ValueId from = origins[static_cast<size_t>(id)];
      if (!given_by.insert(from).second) continue;
      given += told[static_cast<size_t>(from)];
      if (!varies[static_cast<size_t>(id)]) continue;
      origin = from;
      ++varying;
    }
    for (ValueId id : node.outputs) made += graph.type(id).bytes();
    const bool is_made = node.op->traits.view ? prepared[static_cast<size_t>(node.inputs[0])]
                                              : any && made <= std::max(kGrowth, given);
    for (ValueId id : node.outputs) {
      varies[static_cast<size_t>(id)] = any;
      prepared[static_cast<size_t>(id)] = is_made;
      size_t& bytes = told[static_cast<size_t>(id)];
      if (varying == 1 && bytes >= told[static_cast<size_t>(origin)]) {
        origins[static_cast<size_t>(id)] = origin;
      } else if (any) {
        bytes = std::min(bytes, given);
      }
    }
  }
  return prepared;
}

}  // namespace

Graph fold_scales(const Graph& graph) { return ScaleFolding(graph).run(); }

std::optional<PreparedGraph> split_prepared(const Graph& graph) {
  const std::vector<bool> unchanging = unchanging_values(graph);
  const std::vector<bool> prepared = prepared_values(graph, unchanging);
  PreparedGraph split{graph, graph};
  Graph& prepare = split.prepare;
  Graph& rest = split.rest;
  prepare.inputs.clear();
  prepare.outputs.clear();
  for (StateBinding& state : prepare.states) state.out = state.in;
  std::erase_if(prepare.nodes, [&](const Node& node) { return !makes(node, unchanging); });
  std::erase_if(rest.nodes, [&](const Node& node) { return makes(node, prepared); });

  std::vector<bool> crosses(graph.types.size());
  size_t bytes = 0;
  const auto read = [&](ValueId id) {
    const auto i = static_cast<size_t>(id);
    if (!prepared[i] || crosses[i]) return;
    crosses[i] = true;
    bytes += graph.type(id).bytes();
    prepare.outputs.push_back(id);
    rest.inputs.push_back(id);
  };
  rest = eliminate_dead_nodes(std::move(rest));
  for (const Node& node : rest.nodes) {
    for (ValueId id : node.inputs) read(id);
  }
  for (ValueId id : graph.outputs) read(id);
  for (const StateBinding& state : graph.states) read(state.out);
  if (bytes < kWorth) return std::nullopt;
  prepare = eliminate_dead_nodes(std::move(prepare));
  return split;
}

}  // namespace cornu::passes
