// SPDX-License-Identifier: Apache-2.0
// Each rule looks at one node and what is around it. Rules append nodes and redirect uses; dead
// nodes go at the end.
#include <algorithm>
#include <numeric>

#include "cornu/graph/passes/internal_ops.h"
#include "cornu/graph/passes/pass.h"

namespace cornu::passes {
namespace {

constexpr int64_t kMostWindowPositions = 255;  // an index is a byte

class KernelFusion {
 public:
  explicit KernelFusion(const Graph& graph) : graph_(graph) {}

  Graph run() {
    apply([&](const Node& node) { return fuse_bias(node); });
    apply([&](const Node& node) { return fuse_pool(node); });
    apply([&](const Node& node) { return fuse_activation(node); });
    apply([&](const Node& node) { return move_reduction_before_scatter(node); });
    apply([&](const Node& node) { return fuse_conv_pool(node); });
    return graph_;
  }

 private:
  // Tries a rule on every node, until none changes anything.
  template <class Rule>
  void apply(Rule rule) {
    for (bool changed = true; changed;) {
      changed = false;
      index();
      for (size_t i = 0; i < graph_.nodes.size() && !changed; ++i) {
        const Node node = graph_.nodes[i];  // a copy: rules append
        changed = rule(node);
      }
      if (changed) {
        replace_uses(graph_, replacement_);
        sort_topologically(graph_);
        graph_ = eliminate_dead_nodes(graph_);
      }
    }
  }

  void index() {
    producers_ = graph_.producers();
    uses_ = graph_.use_counts();
    replacement_.resize(graph_.types.size());
    std::iota(replacement_.begin(), replacement_.end(), 0);
  }

  const Node* producer(ValueId id) const {
    const int32_t index = producers_[static_cast<size_t>(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<size_t>(index)];
  }
  const Node* producer(ValueId id, std::string_view op) const {
    const Node* node = producer(id);
    return node && node->is(op) ? node : nullptr;
  }
  bool used_once(ValueId id) const { return uses_[static_cast<size_t>(id)] == 1; }
  bool is_float32(ValueId id) const { return graph_.type(id).dtype == DType::Float32; }
  bool is_zero(ValueId id) const {
    const Node* node = producer(id, "constant");
    if (!node) return false;
    const Tensor& value = node->attributes.get_tensor("value");
    return value.num_elements() == 1 && value.item<double>() == 0;
  }

  std::vector<ValueId> add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
                           const Node& in_place_of) {
    const std::string scope = in_place_of.scope;
    return add(internal_op(op), std::move(inputs), std::move(attributes), scope);
  }
  std::vector<ValueId> add(const OpDef& op, std::vector<ValueId> inputs, Attributes attributes,
                           const std::string& scope) {
    auto outputs = graph_.add_node(op, std::move(inputs), std::move(attributes));
    graph_.nodes.back().scope = scope;
    while (replacement_.size() < graph_.types.size()) {
      replacement_.push_back(static_cast<ValueId>(replacement_.size()));
    }
    return outputs;
  }
  void replace(ValueId old_id, ValueId new_id) {
    replacement_[static_cast<size_t>(old_id)] = new_id;
  }

  // add(matmul(a, b), bias) and add(conv(x, filter), bias), where bias is a vector.
  bool fuse_bias(const Node& node) {
    if (!node.is("add") || !is_float32(node.outputs[0])) return false;
    for (size_t side = 0; side < 2; ++side) {
      const ValueId product = node.inputs[side];
      const ValueId bias = node.inputs[1 - side];
      const Node* linear = producer(product);
      if (!linear || !used_once(product)) continue;
      const Shape& shape = graph_.type(product).shape;
      if (shape.empty() || graph_.type(bias).shape != Shape{shape.back()}) continue;
      const bool conv = linear->is("conv");
      if (!conv && !(linear->is("matmul") && graph_.type(linear->inputs[1]).shape.rank() == 2)) {
        continue;
      }
      Attributes attributes = linear->attributes;
      attributes.set("activation", std::string());
      const auto fused = add(conv ? "conv_bias_act" : "matmul_bias_act",
                             {linear->inputs[0], linear->inputs[1], bias}, attributes, node);
      replace(node.outputs[0], fused[0]);
      return true;
    }
    return false;
  }

  // relu(matmul_bias_act), relu(conv_bias_act).
  bool fuse_activation(const Node& node) {
    if (!node.is("relu")) return false;
    const Node* linear = producer(node.inputs[0]);
    if (!linear || !used_once(node.inputs[0])) return false;
    if (!linear->is("matmul_bias_act") && !linear->is("conv_bias_act")) return false;
    if (!linear->attributes.get_string("activation").empty()) return false;
    Attributes attributes = linear->attributes;
    attributes.set("activation", std::string("relu"));
    replace(node.outputs[0], add(linear->op->name, linear->inputs, attributes, node)[0]);
    return true;
  }

  // A max-pooling that knows where its maxima came from, so that its gradient is a scatter; a relu
  // before it moves behind it, where there are fewer elements (max and relu commute), and so does
  // relu's gradient.
  bool fuse_pool(const Node& node) {
    if (!node.is("max_pool") || !is_float32(node.inputs[0])) return false;
    const auto& window = node.attributes.get_ints("window");
    const int64_t positions =
        std::accumulate(window.begin(), window.end(), int64_t{1}, std::multiplies<>());
    if (positions > kMostWindowPositions || window.size() != 2) return false;
    const ValueId pooled_input = node.inputs[0];
    const Node* relu = producer(pooled_input, "relu");
    const std::vector<const Node*> gradients = readers_of(pooled_input, "max_pool_grad", 0);
    if (relu && !relu_moves(pooled_input, gradients)) relu = nullptr;
    Attributes attributes = node.attributes;
    attributes.set("activation", std::string(relu ? "relu" : ""));
    const ValueId before = relu ? relu->inputs[0] : pooled_input;
    const auto pooled = add("max_pool_with_index", {before}, attributes, node);
    replace(node.outputs[0], pooled[0]);
    rewrite_pool_gradients(pooled_input, node.outputs[0], pooled, relu != nullptr);
    return true;
  }

  std::vector<const Node*> readers_of(ValueId id, std::string_view op, size_t slot) const {
    std::vector<const Node*> readers;
    for (const Node& node : graph_.nodes) {
      if (node.is(op) && node.inputs.size() > slot && node.inputs[slot] == id) {
        readers.push_back(&node);
      }
    }
    return readers;
  }

  // The select(greater(r, 0), gradient, 0) that ends relu's gradient, if that is all that reads it.
  const Node* relu_gradient(ValueId relu, ValueId gradient) const {
    if (!used_once(gradient)) return nullptr;
    for (const Node* select : readers_of(gradient, "select", 1)) {
      const Node* greater = producer(select->inputs[0], "greater");
      if (greater && greater->inputs[0] == relu && is_zero(greater->inputs[1]) &&
          is_zero(select->inputs[2])) {
        return select;
      }
    }
    return nullptr;
  }

  // Nothing but the pooling, its gradient and its own gradient's mask reads this relu.
  bool relu_moves(ValueId relu, const std::vector<const Node*>& gradients) const {
    for (const Node& node : graph_.nodes) {
      for (ValueId id : node.inputs) {
        if (id != relu || node.is("max_pool") || node.is("max_pool_grad")) continue;
        if (!node.is("greater") || !is_zero(node.inputs[1])) return false;
      }
    }
    const std::vector<const Node*> pools = readers_of(relu, "max_pool", 0);
    if (pools.size() != 1) return false;
    for (ValueId id : graph_.outputs) {
      if (id == relu) return false;
    }
    for (const Node* gradient : gradients) {
      if (!relu_gradient(relu, gradient->outputs[0])) return false;
    }
    return true;
  }

  void rewrite_pool_gradients(ValueId input, ValueId old_pooled, const std::vector<ValueId>& pooled,
                              bool with_relu) {
    std::vector<Node> gradients;
    for (const Node* gradient : readers_of(input, "max_pool_grad", 0)) {
      if (gradient->inputs[1] == old_pooled) gradients.push_back(*gradient);
    }
    for (const Node& gradient : gradients) {
      ValueId dy = gradient.inputs[2];
      ValueId result = gradient.outputs[0];
      if (with_relu) {
        const Node select = *relu_gradient(input, result);
        const Node greater = *producer(select.inputs[0]);
        const ValueId mask =
            add(*greater.op, {pooled[0], greater.inputs[1]}, {}, gradient.scope)[0];
        dy = add(*select.op, {mask, dy, select.inputs[2]}, {}, gradient.scope)[0];
        result = select.outputs[0];
      }
      Attributes attributes = gradient.attributes;
      attributes.set("input_shape", graph_.type(input).shape.dims());
      replace(result, add("max_pool_scatter", {dy, pooled[1]}, attributes, gradient)[0]);
    }
  }

  // Summing a scattered gradient over all positions is summing the gradient (a bias behind a
  // pooling).
  bool move_reduction_before_scatter(const Node& node) {
    if (!node.is("reduce_sum")) return false;
    const Node* scatter = producer(node.inputs[0], "max_pool_scatter");
    if (!scatter) return false;
    std::vector<int64_t> positions(static_cast<size_t>(graph_.type(node.inputs[0]).shape.rank()) -
                                   1);
    std::iota(positions.begin(), positions.end(), 0);
    if (node.attributes.get_ints("axes") != positions) return false;
    const ValueId scattered = scatter->inputs[0];
    replace(node.outputs[0], add(*node.op, {scattered}, node.attributes, node.scope)[0]);
    return true;
  }

  // A convolution of one input channel whose output only a pooling reads, with its gradients.
  bool fuse_conv_pool(const Node& node) {
    if (!node.is("max_pool_with_index") || !used_once(node.inputs[0])) return false;
    const Node* conv = producer(node.inputs[0], "conv_bias_act");
    if (!conv || !conv->attributes.get_string("activation").empty()) return false;
    const ValueId x = conv->inputs[0];
    if (graph_.type(x).shape.back() != 1 || !is_plain_conv_pool(*conv, node)) return false;
    const std::vector<Node> gradients = scattered_filter_gradients(x, node.outputs[1]);
    const auto fused = add("conv_pool", conv->inputs, conv_pool_attributes(*conv, node), node);
    replace(node.outputs[0], fused[0]);
    replace(node.outputs[1], fused[1]);
    for (const Node& gradient : gradients) {
      const Node scatter = *producer(gradient.inputs[1]);
      Attributes attributes = conv_pool_attributes(*conv, node);
      attributes.set("filter_shape", gradient.attributes.get_ints("filter_shape"));
      const auto grads =
          add("conv_pool_filter_grad", {x, scatter.inputs[0], fused[1]}, attributes, gradient);
      replace(gradient.outputs[0], grads[0]);
      replace_bias_gradient(scatter.inputs[0], grads[1]);
    }
    return true;
  }

  // What the kernel serves: undilated, unpadded, stride 1; windows that don't overlap.
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
           graph_.type(conv.inputs[1]).shape.slice(0, 2) == Shape{3, 3} &&
           graph_.type(conv.inputs[1]).shape.back() % 16 == 0;
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
  std::vector<Node> scattered_filter_gradients(ValueId x, ValueId index) const {
    std::vector<Node> result;
    for (const Node* gradient : readers_of(x, "conv_filter_grad", 0)) {
      const Node* scatter = producer(gradient->inputs[1], "max_pool_scatter");
      if (scatter && scatter->inputs[1] == index && used_once(gradient->inputs[1])) {
        result.push_back(*gradient);
      }
    }
    return result;
  }

  void replace_bias_gradient(ValueId dy, ValueId bias_gradient) {
    for (const Node& node : graph_.nodes) {
      if (node.is("reduce_sum") && node.inputs[0] == dy &&
          graph_.type(node.outputs[0]) == graph_.type(bias_gradient)) {
        replace(node.outputs[0], bias_gradient);
      }
    }
  }

  Graph graph_;
  std::vector<int32_t> producers_;
  std::vector<int32_t> uses_;
  std::vector<ValueId> replacement_;
};

}  // namespace

Graph fuse_kernels(const Graph& graph) { return KernelFusion(graph).run(); }

}  // namespace cornu::passes
