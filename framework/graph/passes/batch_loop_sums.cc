// SPDX-License-Identifier: Apache-2.0
// A matrix product that a scan adds to a carry in each iteration (the gradient of a weight) becomes
// one product over the rows of all iterations; and a reduction of a value that the scan stacks (the
// gradient of a bias) becomes one reduction over all iterations.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "framework/graph/passes/pass.h"

namespace cornu::passes {
namespace {

// Moves the sums of one scan node after it.
class Batcher {
 public:
  Batcher(Graph& graph, Node& scan)
      : graph_(graph),
        scan_(scan),
        body_(scan.attributes.get_graph("body")),
        carries_(static_cast<size_t>(scan.attributes.get_int("carries"))),
        xs_(static_cast<size_t>(scan.attributes.get_int("xs"))),
        length_(scan.attributes.get_int("length")),
        uses_(body_.use_counts()),
        producers_(body_.producers()) {}

  // Returns the nodes to insert right after the scan; none if nothing has changed.
  std::vector<Node> run() {
    for (size_t carry = carries_; carry-- > 0;) {
      if (const Node* product = added_product(carry)) move_product(carry, *product);
    }
    for (size_t carry = carries_; carry-- > 0;) {
      if (const Node* sum = added_sum(carry)) move_sum(carry, *sum);
    }
    if (!after_.empty()) {
      scan_.attributes.set("carries", static_cast<int64_t>(carries_));
      scan_.attributes.set("body",
                           std::make_shared<const Graph>(eliminate_dead_nodes(std::move(body_))));
    }
    return std::move(after_);
  }

 private:
  int32_t uses(ValueId id) const { return uses_[static_cast<size_t>(id)]; }
  const Node* producer(ValueId id, std::string_view op) const {
    const int32_t index = producers_[static_cast<size_t>(id)];
    if (index < 0 || !body_.nodes[static_cast<size_t>(index)].is(op)) return nullptr;
    return &body_.nodes[static_cast<size_t>(index)];
  }

  // The node `op` of a carry that becomes carry + op(...), if nothing else reads either.
  const Node* added(size_t carry, std::string_view op) const {
    const ValueId before = body_.inputs[carry];
    const Node* sum = producer(body_.outputs[carry], "add");
    if (!sum || uses(before) != 1 || uses(sum->outputs[0]) != 1) return nullptr;
    if (sum->inputs[0] != before && sum->inputs[1] != before) return nullptr;
    const ValueId id = sum->inputs[0] == before ? sum->inputs[1] : sum->inputs[0];
    const Node* node = id == before ? nullptr : producer(id, op);
    if (!node || uses(id) != 1 || body_.type(id) != body_.type(before)) return nullptr;
    return is_floating(body_.type(id).dtype) ? node : nullptr;
  }

  // matmul(a, b, transpose_a), unless stacking the operands takes more memory than the sum moves.
  const Node* added_product(size_t carry) const {
    const Node* product = added(carry, "matmul");
    if (!product || !product->attributes.get_bool("transpose_a") ||
        product->attributes.get_bool("transpose_b")) {
      return nullptr;
    }
    size_t stacked = 0;
    for (ValueId id : product->inputs) {
      if (body_.type(id).shape.rank() != 2) return nullptr;
      if (!find_stack(id)) stacked += body_.type(id).bytes();
    }
    return stacked <= 2 * body_.type(product->outputs[0]).bytes() ? product : nullptr;
  }

  // reduce_sum(x), if x is stacked as it is.
  const Node* added_sum(size_t carry) const {
    const Node* sum = added(carry, "reduce_sum");
    const bool fits =
        sum && !sum->attributes.get_bool("keepdims") && find_stack(sum->inputs[0]).has_value();
    return fits ? sum : nullptr;
  }

  // The value outside the loop that stacks `id` over all iterations.
  std::optional<ValueId> find_stack(ValueId id) const {
    for (size_t i = 0; i < xs_; ++i) {
      if (body_.inputs[carries_ + i] == id) return scan_.inputs[carries_ + i];
    }
    for (size_t i = carries_; i < body_.outputs.size(); ++i) {
      if (body_.outputs[i] == id) return scan_.outputs[i];
    }
    return std::nullopt;
  }

  // The rows of `id` in all iterations, as one matrix.
  ValueId rows(ValueId id) {
    const TensorType type = body_.type(id);
    std::optional<ValueId> stack = find_stack(id);
    if (!stack) {
      body_.outputs.push_back(id);
      stack = graph_.add_value({type.dtype, Shape({length_}).concat(type.shape)});
      scan_.outputs.push_back(*stack);
    }
    const Shape shape({length_ * type.shape[0], type.shape[1]});
    return add("reshape", {*stack}, {type.dtype, shape}, {{"shape", shape.dims()}});
  }

  ValueId add(std::string_view op, std::vector<ValueId> inputs, TensorType type,
              Attributes attributes, ValueId id = kNoValue) {
    if (id == kNoValue) id = graph_.add_value(std::move(type));
    after_.push_back({.op = &OpRegistry::global().at(op),
                      .inputs = std::move(inputs),
                      .outputs = {id},
                      .attributes = std::move(attributes),
                      .scope = scan_.scope});
    return id;
  }

  void move_product(size_t carry, const Node& product) {
    const Attributes attributes = product.attributes;
    const std::vector<ValueId> factors = product.inputs;
    const ValueId a = rows(factors[0]);
    const ValueId b = rows(factors[1]);
    move(carry, "matmul", {a, b}, attributes);
  }

  void move_sum(size_t carry, const Node& sum) {
    std::vector<int64_t> axes = {0};
    for (int64_t axis : sum.attributes.get_ints("axes")) axes.push_back(axis + 1);
    move(carry, "reduce_sum", {*find_stack(sum.inputs[0])}, {{"axes", axes}, {"keepdims", false}});
  }

  // Computes the carry's final value outside the loop, as its initial value plus `op` of values
  // outside the loop, and removes it from the loop.
  void move(size_t carry, std::string_view op, std::vector<ValueId> inputs, Attributes attributes) {
    const TensorType type = body_.type(body_.inputs[carry]);
    const ValueId total = add(op, std::move(inputs), type, std::move(attributes));
    add("add", {scan_.inputs[carry], total}, type, {}, scan_.outputs[carry]);
    const auto at = static_cast<int64_t>(carry);
    body_.inputs.erase(body_.inputs.begin() + at);
    body_.outputs.erase(body_.outputs.begin() + at);
    scan_.inputs.erase(scan_.inputs.begin() + at);
    scan_.outputs.erase(scan_.outputs.begin() + at);
    --carries_;
  }

  Graph& graph_;
  Node& scan_;
  Graph body_;
  size_t carries_;
  size_t xs_;
  int64_t length_;
  std::vector<int32_t> uses_;       // in the body
  std::vector<int32_t> producers_;  // in the body
  std::vector<Node> after_;
};

}  // namespace

Graph batch_loop_sums(Graph graph) {
  const bool any = std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.is("scan") && !node.attributes.get_bool("counted");
  });
  if (!any) return graph;
  for (Node& node : std::exchange(graph.nodes, {})) {
    std::vector<Node> after;
    if (node.is("scan") && !node.attributes.get_bool("counted")) {
      after = Batcher(graph, node).run();
    }
    graph.nodes.push_back(std::move(node));
    for (Node& added : after) graph.nodes.push_back(std::move(added));
  }
  return graph;
}

}  // namespace cornu::passes
