// SPDX-License-Identifier: Apache-2.0
// Transposes move towards the nodes that read them, where they meet their inverse or a node that
// reads another layout as easily. Nodes are visited in order, so that one walk moves each as far as
// it goes.
#include <algorithm>
#include <numeric>
#include <optional>

#include "cornu/graph/passes/pass.h"

namespace cornu::passes {
namespace {

using Permutation = std::vector<int64_t>;

Permutation inverse(const Permutation& permutation) {
  Permutation result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    result[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  }
  return result;
}

// A matrix's transpose, of the last two axes.
bool swaps_last_two(Permutation permutation) {
  if (permutation.size() < 2) return false;
  std::swap(permutation[permutation.size() - 2], permutation.back());
  return std::is_sorted(permutation.begin(), permutation.end());
}

class Layout {
 public:
  explicit Layout(const Graph& graph)
      : result_(graph),
        uses_(graph.use_counts()),
        replacement_(graph.types.size()),
        maker_(graph.types.size(), -1) {
    std::iota(replacement_.begin(), replacement_.end(), 0);
    result_.nodes.clear();
  }

  Graph run(const Graph& graph) {
    for (Node node : graph.nodes) {
      for (ValueId& id : node.inputs) id = replacement_[static_cast<size_t>(id)];
      if (node.is("transpose")) {
        compose(std::move(node));
      } else {
        if (node.is("matmul")) read_transposed_matrices(node);
        if (node.is("reduce_sum") || node.is("reduce_max")) reduce_before_transpose(node);
        if (!sink(node)) keep(std::move(node));
      }
    }
    replace_uses(result_, replacement_);
    return eliminate_dead_nodes(result_);
  }

 private:
  const Shape& shape(ValueId id) const { return result_.type(id).shape; }
  const Node* transpose_of(ValueId id) const {
    const int32_t index = maker_[static_cast<size_t>(id)];
    if (index < 0) return nullptr;
    const Node& node = result_.nodes[static_cast<size_t>(index)];
    return node.is("transpose") ? &node : nullptr;
  }
  static const Permutation& permutation(const Node& node) {
    return node.attributes.get_ints("permutation");
  }

  void keep(Node node) {
    for (ValueId id : node.outputs) {
      maker_[static_cast<size_t>(id)] = static_cast<int32_t>(result_.nodes.size());
    }
    result_.nodes.push_back(std::move(node));
  }

  ValueId add_value(DType dtype, const Shape& of_shape) {
    const ValueId id = result_.add_value({dtype, of_shape});
    uses_.push_back(1);
    replacement_.push_back(id);
    maker_.push_back(-1);
    return id;
  }

  // A transpose that follows another is one, or none; one that moves no data is a reshape.
  void compose(Node node) {
    Permutation order = permutation(node);
    if (const Node* before = transpose_of(node.inputs[0])) {
      for (int64_t& axis : order) axis = permutation(*before)[static_cast<size_t>(axis)];
      node.inputs[0] = before->inputs[0];
    }
    if (std::is_sorted(order.begin(), order.end())) {
      replacement_[static_cast<size_t>(node.outputs[0])] = node.inputs[0];
      return;
    }
    const Shape& from = shape(node.inputs[0]);
    Permutation long_axes;
    std::copy_if(order.begin(), order.end(), std::back_inserter(long_axes),
                 [&](int64_t axis) { return from[axis] != 1; });
    if (std::is_sorted(long_axes.begin(), long_axes.end())) {
      keep(reshape(node.inputs[0], node.outputs[0], node.scope));
    } else {
      node.attributes.set("permutation", order);
      keep(std::move(node));
    }
  }

  Node reshape(ValueId from, ValueId to, const std::string& scope) const {
    return {.op = &OpRegistry::global().at("reshape"),
            .inputs = {from},
            .outputs = {to},
            .attributes = {{"shape", shape(to).dims()}},
            .scope = scope};
  }

  // A matrix product reads its operands either way.
  void read_transposed_matrices(Node& node) const {
    constexpr const char* kFlags[] = {"transpose_a", "transpose_b"};
    for (size_t i = 0; i < 2; ++i) {
      const Node* transpose = transpose_of(node.inputs[i]);
      if (!transpose || !swaps_last_two(permutation(*transpose))) continue;
      node.inputs[i] = transpose->inputs[0];
      node.attributes.set(kFlags[i], !node.attributes.get_bool(kFlags[i]));
    }
  }

  // A reduction reads the original where the axes that are left keep their order.
  void reduce_before_transpose(Node& node) const {
    const Node* transpose = transpose_of(node.inputs[0]);
    if (!transpose || node.attributes.get_bool("keepdims")) return;
    const Permutation& order = permutation(*transpose);
    const std::vector<int64_t>& axes = node.attributes.get_ints("axes");
    Permutation left;
    Permutation mapped;
    for (size_t i = 0; i < order.size(); ++i) {
      const bool reduced = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
      (reduced ? mapped : left).push_back(order[i]);
    }
    if (!std::is_sorted(left.begin(), left.end())) return;
    std::sort(mapped.begin(), mapped.end());
    node.inputs[0] = transpose->inputs[0];
    node.attributes.set("axes", mapped);
  }

  // An elementwise node of values that are all transposed alike becomes the transpose of an
  // elementwise node, unless that would move more memory.
  bool sink(const Node& node) {
    if (!node.op->traits.elementwise || node.outputs.size() != 1) return false;
    const auto order = common_permutation(node);
    if (!order) return false;
    const TensorType type = result_.type(node.outputs[0]);
    Node before = node;
    for (ValueId& id : before.inputs) id = untransposed(id, *order, node.scope);
    Shape of_shape = type.shape;
    for (size_t i = 0; i < order->size(); ++i) {
      of_shape[(*order)[i]] = type.shape[static_cast<int64_t>(i)];
    }
    before.outputs = {add_value(type.dtype, of_shape)};
    Node after{.op = &OpRegistry::global().at("transpose"),
               .inputs = before.outputs,
               .outputs = node.outputs,
               .attributes = {{"permutation", *order}},
               .scope = node.scope};
    keep(std::move(before));
    keep(std::move(after));
    return true;
  }

  // Of the inputs that have the output's shape, which no other node reads; the other inputs may
  // have one axis.
  std::optional<Permutation> common_permutation(const Node& node) const {
    const TensorType& out = result_.type(node.outputs[0]);
    std::optional<Permutation> common;
    for (ValueId id : node.inputs) {
      const Node* transpose = transpose_of(id);
      if (shape(id) == out.shape && transpose) {
        const bool wider = size_of(result_.type(id).dtype) < size_of(out.dtype);
        const bool same = !common || *common == permutation(*transpose);
        if (wider || !same || uses_[static_cast<size_t>(id)] != 1) return std::nullopt;
        common = permutation(*transpose);
      } else if (std::ranges::count_if(shape(id), [](int64_t size) { return size != 1; }) > 1) {
        return std::nullopt;
      }
    }
    return common;
  }

  // `id` as it was before `order`; an operand of one long axis is reshaped.
  ValueId untransposed(ValueId id, const Permutation& order, const std::string& scope) {
    const Node* transpose = transpose_of(id);
    if (transpose && permutation(*transpose) == order) return transpose->inputs[0];
    if (shape(id).num_elements() == 1) return id;
    const auto rank = static_cast<int64_t>(order.size());
    const Permutation back = inverse(order);
    Shape to(std::vector<int64_t>(order.size(), 1));
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t axis = back[static_cast<size_t>(i)] - (rank - shape(id).rank());
      if (axis >= 0) to[i] = shape(id)[axis];
    }
    const ValueId reshaped = add_value(result_.type(id).dtype, to);
    keep(reshape(id, reshaped, scope));
    return reshaped;
  }

  Graph result_;
  std::vector<int32_t> uses_;
  std::vector<ValueId> replacement_;
  std::vector<int32_t> maker_;  // by value: index into result_.nodes
};

}  // namespace

Graph layout(const Graph& graph) { return Layout(graph).run(graph); }

}  // namespace cornu::passes
