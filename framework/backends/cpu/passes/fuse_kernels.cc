// SPDX-License-Identifier: Apache-2.0
// Each rule looks at one node and its neighbors, adds nodes and redirects uses.
#include <algorithm>
#include <numeric>
#include <optional>

#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/backends/cpu/passes/internal_ops.h"
#include "framework/backends/cpu/passes/passes.h"
#include "framework/graph/passes/fuse_bias.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kMaxWindowPositions = 255;  // an index is a byte

class KernelFusion {
 public:
  explicit KernelFusion(const Graph& graph) : graph_(graph) {}

  Graph run() {
    passes::BiasFusion bias(graph_, computes_in_float32);
    graph_.apply([&](int index) { return bias.fuse_bias(index); });
    graph_.apply([&](int index) { return fuse_pool(index); });
    graph_.apply([&](int index) { return bias.fuse_activation(index); });
    graph_.apply([&](int index) { return bias.fuse_ceiling(index); });
    graph_.apply([&](int index) { return move_reduction_before_scatter(index); });
    graph_.apply([&](int index) { return fuse_conv_pool(index); });
    graph_.apply([&](int index) { return fuse_random_mask(index); });
    return graph_.finish();
  }

 private:
  const Node* producer(ValueId id) const { return graph_.producer(id); }
  const Node* producer(ValueId id, std::string_view op) const { return graph_.producer(id, op); }
  bool used_once(ValueId id) const { return graph_.uses(id) == 1; }
  bool is_zero(ValueId id) const { return graph_.is_number(id, 0); }

  // Replaces a node by an internal op.
  std::vector<ValueId> add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
                           int place) {
    return graph_.insert(place, internal_op(op), std::move(inputs), std::move(attributes));
  }
  void replace(ValueId old_id, ValueId new_id) {
    graph_.replace(old_id, new_id);
    graph_.remove_unused(old_id);
  }

  // A max-pooling that returns the positions of its maxima, so that its gradient is a scatter; a
  // relu before it moves after it, where there are fewer elements (max and relu commute), and so
  // does relu's gradient.
  bool fuse_pool(int index) {
    const Node& node = graph_.node(index);
    if (!node.is("max_pool") || !computes_in_float32(graph_.type(node.inputs[0]).dtype))
      return false;
    const auto& window = node.attributes.get_ints("window");
    const int64_t positions =
        std::accumulate(window.begin(), window.end(), int64_t{1}, std::multiplies<>());
    if (positions > kMaxWindowPositions || window.size() != 2) return false;
    const ValueId pooled_input = node.inputs[0];
    const Node* relu = producer(pooled_input, "relu");
    if (relu && !relu_moves(pooled_input)) relu = nullptr;
    Attributes attributes = node.attributes;
    attributes.set("activation", std::string(relu ? "relu" : ""));
    const ValueId before = relu ? relu->inputs[0] : pooled_input;
    const auto pooled = add("max_pool_with_index", {before}, attributes, index);
    rewrite_pool_gradients(node, pooled, relu != nullptr);
    replace(node.outputs[0], pooled[0]);
    return true;
  }

  std::vector<int> readers_of(ValueId id, std::string_view op, size_t slot) const {
    std::vector<int> result;
    for (int index : graph_.readers(id)) {
      const Node& node = graph_.node(index);
      if (node.is(op) && node.inputs.size() > slot && node.inputs[slot] == id) {
        result.push_back(index);
      }
    }
    return result;
  }

  // The select(greater(r, 0), gradient, 0) of relu's gradient, if nothing else reads `gradient`.
  std::optional<int> relu_gradient(ValueId relu, ValueId gradient) const {
    if (!used_once(gradient)) return std::nullopt;
    for (int index : readers_of(gradient, "select", 1)) {
      const Node& select = graph_.node(index);
      const Node* greater = producer(select.inputs[0], "greater");
      if (greater && greater->inputs[0] == relu && is_zero(greater->inputs[1]) &&
          is_zero(select.inputs[2])) {
        return index;
      }
    }
    return std::nullopt;
  }

  // Whether only the pooling, its gradient and the mask of relu's gradient read this relu.
  bool relu_moves(ValueId relu) const {
    if (graph_.leaves(relu)) return false;
    int pools = 0;
    for (int index : graph_.readers(relu)) {
      const Node& node = graph_.node(index);
      pools += node.is("max_pool");
      if (node.is("max_pool") || node.is("max_pool_grad")) continue;
      if (!node.is("greater") || !is_zero(node.inputs[1])) return false;
    }
    const std::vector<int> gradients = readers_of(relu, "max_pool_grad", 0);
    return pools == 1 && std::ranges::all_of(gradients, [&](int index) {
             return relu_gradient(relu, graph_.node(index).outputs[0]).has_value();
           });
  }

  void rewrite_pool_gradients(const Node& pool, const std::vector<ValueId>& pooled,
                              bool with_relu) {
    const ValueId input = pool.inputs[0];
    for (int place : readers_of(input, "max_pool_grad", 0)) {
      const Node& gradient = graph_.node(place);
      if (gradient.inputs[1] != pool.outputs[0]) continue;
      ValueId dy = gradient.inputs[2];
      ValueId result = gradient.outputs[0];
      if (with_relu) {
        place = *relu_gradient(input, result);
        const Node& select = graph_.node(place);
        const Node& greater = *producer(select.inputs[0]);
        const ValueId mask = insert(place, greater, {pooled[0], greater.inputs[1]});
        dy = insert(place, select, {mask, dy, select.inputs[2]});
        result = select.outputs[0];
      }
      Attributes attributes = gradient.attributes;
      attributes.set("input_shape", graph_.shape(input).dims());
      replace(result, add("max_pool_scatter", {dy, pooled[1]}, attributes, place)[0]);
    }
  }

  // Adds a node of the same op and attributes.
  ValueId insert(int place, const Node& like, std::vector<ValueId> inputs) {
    return graph_.insert(place, *like.op, std::move(inputs), like.attributes)[0];
  }

  // Whether the node sums over all axes but the last, like a bias's gradient.
  bool sums_positions(const Node& node) const {
    if (!node.is("reduce_sum") || graph_.shape(node.inputs[0]).empty()) return false;
    std::vector<int64_t> positions(static_cast<size_t>(graph_.shape(node.inputs[0]).rank()) - 1);
    std::iota(positions.begin(), positions.end(), 0);
    return node.attributes.get_ints("axes") == positions;
  }

  // The sum of a scattered gradient over all positions is the sum of the gradient (a bias before a
  // pooling).
  bool move_reduction_before_scatter(int index) {
    const Node& node = graph_.node(index);
    if (!sums_positions(node)) return false;
    const Node* scatter = producer(node.inputs[0], "max_pool_scatter");
    if (!scatter) return false;
    replace(node.outputs[0], insert(index, node, {scatter->inputs[0]}));
    return true;
  }

  // A convolution of one input channel whose output only a pooling reads, with its gradients.
  bool fuse_conv_pool(int index) {
    const Node& node = graph_.node(index);
    if (!node.is("max_pool_with_index") || !used_once(node.inputs[0])) return false;
    const Node* conv = producer(node.inputs[0], "conv_bias_act");
    if (!conv || !conv->attributes.get_string("activation").empty()) return false;
    const ValueId x = conv->inputs[0];
    if (graph_.shape(x).back() != 1 || !is_plain_conv_pool(*conv, node)) return false;
    const std::vector<int> gradients = scattered_filter_gradients(x, node.outputs[1]);
    const Attributes attributes = conv_pool_attributes(*conv, node);
    const auto fused = add("conv_pool", conv->inputs, attributes, index);
    for (int place : gradients) {
      const Node& gradient = graph_.node(place);
      const ValueId dy = producer(gradient.inputs[1])->inputs[0];
      Attributes with_filter = attributes;
      with_filter.set("filter_shape", gradient.attributes.get_ints("filter_shape"));
      const auto grads = add("conv_pool_filter_grad", {x, dy, fused[1]}, with_filter, place);
      replace(gradient.outputs[0], grads[0]);
      replace_bias_gradient(dy, grads[1]);
    }
    replace(node.outputs[0], fused[0]);
    replace(node.outputs[1], fused[1]);
    return true;
  }

  // A dropout's mask takes a byte instead of a number for each element.
  bool fuse_random_mask(int index) {
    const Node& node = graph_.node(index);
    if (!node.is("greater_equal") || !used_once(node.inputs[0])) return false;
    const Node* numbers = producer(node.inputs[0], "random_uniform");
    const Node* least = producer(node.inputs[1], "constant");
    if (!numbers || !least || graph_.type(node.inputs[0]).dtype != DType::Float32 ||
        graph_.shape(node.inputs[0]) != graph_.shape(node.outputs[0])) {
      return false;
    }
    const Tensor& value = least->attributes.get_tensor("value");
    if (value.num_elements() != 1) return false;
    Attributes attributes = {{"shape", numbers->attributes.get_ints("shape")},
                             {"least", value.item<double>()}};
    replace(node.outputs[0], add("random_mask", numbers->inputs, std::move(attributes), index)[0]);
    return true;
  }

  // What the kernel supports: undilated, unpadded, stride 1; windows that don't overlap.
  bool is_plain_conv_pool(const Node& conv, const Node& pool) const {
    auto all = [](const std::vector<int64_t>& values, int64_t value) {
      return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
    };
    return all(conv.attributes.get_ints("strides"), 1) &&
           all(conv.attributes.get_ints("dilation"), 1) &&
           all(conv.attributes.get_ints("padding"), 0) && conv.attributes.get_int("groups") == 1 &&
           all(pool.attributes.get_ints("padding"), 0) &&
           all(pool.attributes.get_ints("window"), 2) &&
           all(pool.attributes.get_ints("strides"), 2) &&
           graph_.shape(conv.inputs[1]).slice(0, 2) == Shape{3, 3} &&
           graph_.shape(conv.inputs[1]).back() % 16 == 0;
  }

  Attributes conv_pool_attributes(const Node& conv, const Node& pool) const {
    Attributes attributes = conv.attributes;
    attributes.set("activation", pool.attributes.get_string("activation"));
    attributes.set("window", pool.attributes.get_ints("window"));
    attributes.set("pool_strides", pool.attributes.get_ints("strides"));
    attributes.set("pool_padding", pool.attributes.get_ints("padding"));
    return attributes;
  }

  // conv_filter_grad(x, max_pool_scatter(dy, index)) nodes.
  std::vector<int> scattered_filter_gradients(ValueId x, ValueId index) const {
    std::vector<int> result;
    for (int reader : readers_of(x, "conv_filter_grad", 0)) {
      const ValueId dy = graph_.node(reader).inputs[1];
      const Node* scatter = producer(dy, "max_pool_scatter");
      if (scatter && scatter->inputs[1] == index && used_once(dy)) result.push_back(reader);
    }
    return result;
  }

  void replace_bias_gradient(ValueId dy, ValueId bias_gradient) {
    for (int index : graph_.readers(dy)) {
      const Node& node = graph_.node(index);
      if (sums_positions(node) && graph_.type(node.outputs[0]) == graph_.type(bias_gradient)) {
        replace(node.outputs[0], bias_gradient);
      }
    }
  }

  passes::Rewriter graph_;
};

}  // namespace

Graph fuse_kernels(const Graph& graph) { return KernelFusion(graph).run(); }

}  // namespace cornu::cpu
