// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "framework/graph/passes/pass.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::passes {
namespace {

constexpr size_t kFoldedBytes = size_t{64} << 10;  // larger results are cheaper to compute

// One forward pass: each node is kept, replaced by an existing value, or folded to a constant.
class Simplifier {
 public:
  Simplifier(const Graph& graph, const Evaluator& evaluate) : evaluate_(evaluate), graph_(graph) {}

  Graph run() {
    const int count = graph_.size();
    for (int index = 0; index < count; ++index) {
      simplify_inputs(index);
      const Node& node = graph_.node(index);
      if (const auto same = existing_value(node)) {
        graph_.replace(node.outputs[0], *same);
        graph_.remove(index);
      } else if (!fold(index)) {
        merge_with_equal(index);
      }
    }
    return graph_.finish();
  }

 private:
  bool is_constant(ValueId id) const { return graph_.producer(id, "constant") != nullptr; }
  const Tensor& constant(ValueId id) const {
    return graph_.producer(id)->attributes.get_tensor("value");
  }

  // Whether it is a floating-point constant of one element, `value`.
  bool is_float(ValueId id, double value) const {
    return is_floating(graph_.type(id).dtype) && graph_.is_number(id, value);
  }

  void simplify_inputs(int index) {
    const Node& node = graph_.node(index);
    std::vector<ValueId> inputs = node.inputs;
    if (node.op->traits.commutative && inputs.size() == 2 && is_constant(inputs[0]) &&
        !is_constant(inputs[1])) {
      std::swap(inputs[0], inputs[1]);
    }
    skip_broadcasts(node, inputs);
    if (node.is("reshape")) {
      // A reshape of a reshape reads the input of the first one.
      while (const Node* before = graph_.producer(inputs[0], "reshape"))
        inputs[0] = before->inputs[0];
    }
    if (inputs != node.inputs) graph_.set_inputs(index, std::move(inputs));
  }

  // Elementwise ops broadcast implicitly, so they read the operand of a broadcast_to directly, if
  // the other operands still determine the result's shape.
  void skip_broadcasts(const Node& node, std::vector<ValueId>& inputs) const {
    if (!node.op->traits.elementwise || inputs.size() < 2) return;
    for (ValueId& id : inputs) {
      const Node* source = graph_.producer(id, "broadcast_to");
      if (!source) continue;
      const ValueId before = std::exchange(id, source->inputs[0]);
      const auto types = types_of(inputs);
      if (node.op->infer(types, node.attributes)[0] != graph_.type(node.outputs[0])) id = before;
    }
  }

  std::vector<TensorType> types_of(const std::vector<ValueId>& ids) const {
    std::vector<TensorType> types;
    for (ValueId id : ids) types.push_back(graph_.type(id));
    return types;
  }

  std::optional<ValueId> existing_value(const Node& node) const {
    if (node.outputs.size() != 1) return std::nullopt;
    const ValueId out = node.outputs[0];
    const std::string& name = node.op->name;
    // A custom gradient has already been computed if one was requested.
    if (name == "identity" || name == "stop_gradient" || name == "custom_gradient") {
      return node.inputs[0];
    }
    const bool keeps_type = !node.inputs.empty() && graph_.type(node.inputs[0]) == graph_.type(out);
    if (!keeps_type) return std::nullopt;
    const ValueId in = node.inputs[0];
    if (name == "cast" || name == "reshape" || name == "broadcast_to") return in;
    if (name == "transpose") {
      const auto& permutation = node.attributes.get_ints("permutation");
      if (std::is_sorted(permutation.begin(), permutation.end())) return in;
    }
    if (name == "negate" && graph_.producer(in, "negate")) return graph_.producer(in)->inputs[0];
    if ((name == "add" || name == "subtract") && is_float(node.inputs[1], 0)) return in;
    if ((name == "multiply" || name == "divide") && is_float(node.inputs[1], 1)) return in;
    if (name == "power" && is_float(node.inputs[1], 1)) return in;
    return std::nullopt;
  }

  bool fold(int index) {
    const Node& node = graph_.node(index);
    if (!evaluate_ || must_run(node) || node.is("constant") || node.inputs.empty()) return false;
    if (node.is("broadcast_to"))
      return false;  // kernels broadcast for free; a constant takes memory
    const std::vector<TensorType> types = types_of(node.outputs);
    size_t bytes = 0;
    for (const TensorType& type : types) bytes += type.bytes();
    if (bytes > kFoldedBytes) return false;
    std::vector<Tensor> inputs;
    for (ValueId id : node.inputs) {
      if (!is_constant(id)) return false;
      inputs.push_back(constant(id));
    }
    const auto values = evaluate_(*node.op, inputs, node.attributes, types);
    for (size_t i = 0; i < values.size(); ++i) {
      static const OpDef& op = OpRegistry::global().at("constant");
      merge_with_equal(graph_.insert(index, {.op = &op,
                                             .inputs = {},
                                             .outputs = {node.outputs[i]},
                                             .attributes = {{"value", values[i]}},
                                             .scope = {}}));
    }
    graph_.remove(index);
    return true;
  }

  // Replaces the node by an equal earlier one, if there is one.
  void merge_with_equal(int index) {
    const Node& node = graph_.node(index);
    if (must_run(node)) return;
    std::vector<int>& alike = by_hash_[hash(node)];
    for (int other_index : alike) {
      const Node& other = graph_.node(other_index);
      if (other.op != node.op || other.inputs != node.inputs ||
          !(other.attributes == node.attributes)) {
        continue;
      }
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        graph_.replace(node.outputs[i], other.outputs[i]);
      }
      graph_.remove(index);
      return;
    }
    alike.push_back(index);
  }

  static size_t hash(const Node& node) {
    size_t result = std::hash<const void*>()(node.op) ^ node.attributes.hash();
    for (ValueId id : node.inputs) result = result * 31 + static_cast<size_t>(id);
    return result;
  }

  const Evaluator& evaluate_;
  Rewriter graph_;
  std::unordered_map<size_t, std::vector<int>> by_hash_;
};

}  // namespace

Graph simplify(const Graph& graph, const Evaluator& evaluate) {
  return Simplifier(batch_loop_sums(prune_loops(join_parts(graph))), evaluate).run();
}

}  // namespace cornu::passes
