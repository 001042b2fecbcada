// SPDX-License-Identifier: Apache-2.0
// Transposes move towards the nodes that read them, until they meet their inverse or a node that
// can read another layout. Nodes are visited in order, so one pass moves each as far as possible.
#include <algorithm>
#include <optional>
#include <utility>

#include "framework/graph/passes/pass.h"
#include "framework/graph/passes/rewriter.h"

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

// Whether it is a matrix transpose of the last two axes.
bool swaps_last_two(Permutation permutation) {
  if (permutation.size() < 2) return false;
  std::swap(permutation[permutation.size() - 2], permutation.back());
  return std::is_sorted(permutation.begin(), permutation.end());
}

class Layout {
 public:
  explicit Layout(const Graph& graph) : graph_(graph) {}

  Graph run() {
    const int count = graph_.size();
    for (int index = 0; index < count; ++index) {
      const Node& node = graph_.node(index);
      if (node.is("transpose")) {
        compose(index);
      } else if (node.is("matmul")) {
        read_transposed_matrices(index);
      } else if (node.is("reduce_sum") || node.is("reduce_max")) {
        reduce_before_transpose(index);
      } else {
        sink(index);
      }
    }
    return graph_.finish();
  }

 private:
  const Shape& shape(ValueId id) const { return graph_.shape(id); }
  const Node* transpose_of(ValueId id) const { return graph_.producer(id, "transpose"); }
  static const Permutation& permutation(const Node& node) {
    return node.attributes.get_ints("permutation");
  }

  // Composes a transpose with one before it; the identity is removed, and one that moves no data
  // becomes a reshape.
  void compose(int index) {
    const Node& node = graph_.node(index);
    Permutation order = permutation(node);
    if (const Node* before = transpose_of(node.inputs[0])) {
      for (int64_t& axis : order) axis = permutation(*before)[static_cast<size_t>(axis)];
      set_input(index, 0, before->inputs[0]);
    }
    if (std::is_sorted(order.begin(), order.end())) {
      graph_.replace(node.outputs[0], node.inputs[0]);
      graph_.remove(index);
      return;
    }
    const Shape& from = shape(node.inputs[0]);
    Permutation long_axes;
    std::copy_if(order.begin(), order.end(), std::back_inserter(long_axes),
                 [&](int64_t axis) { return from[axis] != 1; });
    if (std::is_sorted(long_axes.begin(), long_axes.end())) {
      insert_reshape(index, node.inputs[0], node.outputs[0]);
      graph_.remove(index);
    } else {
      graph_.set_attributes(index, {{"permutation", order}});
    }
  }

  // Replaces an input, and removes the producer of the previous one if it is now unused.
  void set_input(int index, size_t slot, ValueId id) {
    std::vector<ValueId> inputs = graph_.node(index).inputs;
    const ValueId before = std::exchange(inputs[slot], id);
    graph_.set_inputs(index, std::move(inputs));
    graph_.remove_unused(before);
  }

  void insert_reshape(int place, ValueId from, ValueId to) {
    graph_.insert(place, {.op = &OpRegistry::global().at("reshape"),
                          .inputs = {from},
                          .outputs = {to},
                          .attributes = {{"shape", shape(to).dims()}},
                          .scope = {}});
  }

  // Makes a matmul read a transposed operand by a flag.
  void read_transposed_matrices(int index) {
    constexpr const char* kFlags[] = {"transpose_a", "transpose_b"};
    for (size_t i = 0; i < 2; ++i) {
      const Node* transpose = transpose_of(graph_.node(index).inputs[i]);
      if (!transpose || !swaps_last_two(permutation(*transpose))) continue;
      Attributes attributes = graph_.node(index).attributes;
      attributes.set(kFlags[i], !attributes.get_bool(kFlags[i]));
      graph_.set_attributes(index, std::move(attributes));
      set_input(index, i, transpose->inputs[0]);
    }
  }

  // Makes a reduction read the untransposed value if the axes that it keeps stay in order.
  void reduce_before_transpose(int index) {
    const Node& node = graph_.node(index);
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
    Attributes attributes = node.attributes;
    attributes.set("axes", mapped);
    graph_.set_attributes(index, std::move(attributes));
    set_input(index, 0, transpose->inputs[0]);
  }

  // Turns an elementwise node whose inputs are all transposed alike into the transpose of an
  // elementwise node, unless that would move more memory.
  void sink(int index) {
    const Node& node = graph_.node(index);
    if (!node.op->traits.elementwise || node.outputs.size() != 1) return;
    const auto order = common_permutation(node);
    if (!order) return;
    const TensorType type = graph_.type(node.outputs[0]);
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(untransposed(index, id, *order));
    Shape of_shape = type.shape;
    for (size_t i = 0; i < order->size(); ++i) {
      of_shape[(*order)[i]] = type.shape[static_cast<int64_t>(i)];
    }
    const ValueId before = graph_.add_value({type.dtype, of_shape});
    graph_.insert(index, {.op = node.op,
                          .inputs = std::move(inputs),
                          .outputs = {before},
                          .attributes = node.attributes,
                          .scope = {}});
    graph_.insert(index, {.op = &OpRegistry::global().at("transpose"),
                          .inputs = {before},
                          .outputs = node.outputs,
                          .attributes = {{"permutation", *order}},
                          .scope = {}});
    graph_.remove(index);
    for (ValueId id : node.inputs) graph_.remove_unused(id);
  }

  // The permutation of all inputs that have the output's shape; nullopt if another node reads one
  // of them. Other inputs may have at most one axis longer than 1.
  std::optional<Permutation> common_permutation(const Node& node) const {
    const TensorType& out = graph_.type(node.outputs[0]);
    std::optional<Permutation> common;
    for (ValueId id : node.inputs) {
      const Node* transpose = transpose_of(id);
      if (shape(id) == out.shape && transpose) {
        const bool wider = size_of(graph_.type(id).dtype) < size_of(out.dtype);
        const bool same = !common || *common == permutation(*transpose);
        if (wider || !same || graph_.uses(id) != 1) return std::nullopt;
        common = permutation(*transpose);
      } else if (std::ranges::count_if(shape(id), [](int64_t size) { return size != 1; }) > 1) {
        return std::nullopt;
      }
    }
    return common;
  }

  // `id` as it was before the transpose by `order`; an operand with one long axis is reshaped.
  ValueId untransposed(int index, ValueId id, const Permutation& order) {
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
    const ValueId reshaped = graph_.add_value({graph_.type(id).dtype, to});
    insert_reshape(index, id, reshaped);
    return reshaped;
  }

  Rewriter graph_;
};

}  // namespace

Graph layout(const Graph& graph) { return Layout(graph).run(); }

}  // namespace cornu::passes
