// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cornu/graph/passes/pass.h"

namespace cornu::passes {
namespace {

constexpr size_t kFoldedBytes = size_t{64} << 10;  // larger results are cheaper to compute

// One forward walk: each node is kept, replaced by an existing value, or folded to a constant.
class Simplifier {
 public:
  Simplifier(const Graph& graph, const Evaluator& evaluate)
      : evaluate_(evaluate), result_(graph), replacement_(graph.types.size()) {
    std::iota(replacement_.begin(), replacement_.end(), 0);
    result_.nodes.clear();
    maker_.assign(graph.types.size(), -1);
  }

  Graph run(const Graph& graph) {
    for (Node node : graph.nodes) {
      for (ValueId& id : node.inputs) id = replacement_[static_cast<size_t>(id)];
      if (node.op->traits.commutative && node.inputs.size() == 2 && is_constant(node.inputs[0]) &&
          !is_constant(node.inputs[1])) {
        std::swap(node.inputs[0], node.inputs[1]);
      }
      skip_broadcasts(node);
      if (const auto same = existing_value(node)) {
        replacement_[static_cast<size_t>(node.outputs[0])] = *same;
      } else if (!fold(node)) {
        keep(std::move(node));
      }
    }
    replace_uses(result_, replacement_);
    return eliminate_dead_nodes(result_);
  }

 private:
  const Node* maker(ValueId id) const {
    const int32_t index = maker_[static_cast<size_t>(id)];
    return index < 0 ? nullptr : &result_.nodes[static_cast<size_t>(index)];
  }
  bool is_constant(ValueId id) const { return maker(id) && maker(id)->is("constant"); }
  const Tensor& constant(ValueId id) const { return maker(id)->attributes.get_tensor("value"); }

  // A constant whose elements all equal `value`.
  bool is_filled_with(ValueId id, double value) const {
    if (!is_constant(id)) return false;
    const Tensor& tensor = constant(id);
    if (tensor.num_elements() != 1 || !is_floating(tensor.dtype())) return false;
    return tensor.item<double>() == value;
  }

  bool same_type(ValueId a, ValueId b) const { return result_.type(a) == result_.type(b); }

  std::optional<ValueId> existing_value(const Node& node) const {
    if (node.outputs.size() != 1) return std::nullopt;
    const ValueId out = node.outputs[0];
    const std::string& name = node.op->name;
    if (name == "identity" || name == "stop_gradient") return node.inputs[0];
    const bool keeps_type = !node.inputs.empty() && same_type(node.inputs[0], out);
    if (!keeps_type) return std::nullopt;
    const ValueId in = node.inputs[0];
    if (name == "cast" || name == "reshape" || name == "broadcast_to") return in;
    if (name == "transpose") {
      const auto& permutation = node.attributes.get_ints("permutation");
      if (std::is_sorted(permutation.begin(), permutation.end())) return in;
    }
    if (name == "negate" && maker(in) && maker(in)->is("negate")) return maker(in)->inputs[0];
    if ((name == "add" || name == "subtract") && is_filled_with(node.inputs[1], 0)) return in;
    if ((name == "multiply" || name == "divide") && is_filled_with(node.inputs[1], 1)) return in;
    if (name == "power" && is_filled_with(node.inputs[1], 1)) return in;
    return std::nullopt;
  }

  // Elementwise ops broadcast by themselves: they read what was broadcast, where the other operands
  // still give the result its shape.
  void skip_broadcasts(Node& node) const {
    if (!node.op->traits.elementwise || node.inputs.size() < 2) return;
    for (ValueId& id : node.inputs) {
      const Node* source = maker(id);
      if (!source || !source->is("broadcast_to")) continue;
      const ValueId before = std::exchange(id, source->inputs[0]);
      std::vector<TensorType> types;
      for (ValueId input : node.inputs) types.push_back(result_.type(input));
      if (node.op->infer(types, node.attributes)[0] != result_.type(node.outputs[0])) id = before;
    }
  }

  bool fold(const Node& node) {
    const bool pure = !node.op->traits.collective && !node.op->traits.has_effect;
    if (!evaluate_ || !pure || node.is("constant") || node.inputs.empty()) return false;
    if (node.is("broadcast_to")) return false;  // kernels broadcast for nothing; memory doesn't
    size_t bytes = 0;
    for (ValueId id : node.outputs) bytes += result_.type(id).bytes();
    if (bytes > kFoldedBytes) return false;
    std::vector<Tensor> inputs;
    for (ValueId id : node.inputs) {
      if (!is_constant(id)) return false;
      inputs.push_back(constant(id));
    }
    std::vector<TensorType> types;
    for (ValueId id : node.outputs) types.push_back(result_.type(id));
    const auto values = evaluate_(*node.op, inputs, node.attributes, types);
    for (size_t i = 0; i < values.size(); ++i) {
      static const OpDef& op = OpRegistry::global().at("constant");
      keep({.op = &op,
            .inputs = {},
            .outputs = {node.outputs[i]},
            .attributes = {{"value", values[i]}},
            .scope = node.scope});
    }
    return true;
  }

  void keep(Node node) {
    if (node.is("reshape")) {
      // A reshape of a reshape reads the first one's input.
      while (maker(node.inputs[0]) && maker(node.inputs[0])->is("reshape")) {
        node.inputs[0] = maker(node.inputs[0])->inputs[0];
      }
    }
    if (!node.op->traits.collective && !node.op->traits.has_effect) {
      std::vector<int32_t>& alike = by_hash_[hash(node)];
      for (int32_t index : alike) {
        const Node& other = result_.nodes[static_cast<size_t>(index)];
        if (other.op != node.op || other.inputs != node.inputs ||
            !(other.attributes == node.attributes)) {
          continue;
        }
        for (size_t i = 0; i < node.outputs.size(); ++i) {
          replacement_[static_cast<size_t>(node.outputs[i])] = other.outputs[i];
        }
        return;
      }
      alike.push_back(static_cast<int32_t>(result_.nodes.size()));
    }
    for (ValueId id : node.outputs) {
      maker_[static_cast<size_t>(id)] = static_cast<int32_t>(result_.nodes.size());
    }
    result_.nodes.push_back(std::move(node));
  }

  static size_t hash(const Node& node) {
    size_t result = std::hash<const void*>()(node.op) ^ node.attributes.hash();
    for (ValueId id : node.inputs) result = result * 31 + static_cast<size_t>(id);
    return result;
  }

  const Evaluator& evaluate_;
  Graph result_;
  std::vector<ValueId> replacement_;
  std::vector<int32_t> maker_;  // by value: index into result_.nodes
  std::unordered_map<size_t, std::vector<int32_t>> by_hash_;
};

}  // namespace

Graph simplify(const Graph& graph, const Evaluator& evaluate) {
  return Simplifier(graph, evaluate).run(graph);
}

}  // namespace cornu::passes
