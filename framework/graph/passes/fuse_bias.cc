// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/fuse_bias.h"

#include <mutex>

namespace cornu::passes {
namespace {

void register_bias_ops(OpRegistry& registry) {
  const auto add = [&](const char* name, const char* like) {
    registry.add({.name = name,
                  .infer =
                      [like](std::span<const TensorType> inputs, const Attributes& attributes) {
                        return OpRegistry::global().at(like).infer(inputs.first(2), attributes);
                      },
                  .vjp = {},
                  .traits = {.of_passes = true}});
  };
  add("matmul_bias_act", "matmul");
  add("conv_bias_act", "conv");
}

}  // namespace

const OpDef& bias_op(std::string_view name) {
  static std::once_flag once;
  std::call_once(once, [] { register_bias_ops(OpRegistry::global()); });
  return OpRegistry::global().at(name);
}

const Node* BiasFusion::with_bias(ValueId id, std::string_view activation) const {
  const Node* node = graph_.producer(id);
  if (!node || graph_.uses(id) != 1) return nullptr;
  if (!node->is("matmul_bias_act") && !node->is("conv_bias_act")) return nullptr;
  return node->attributes.get_string("activation") == activation ? node : nullptr;
}

void BiasFusion::replace(int index, std::string_view op, std::vector<ValueId> inputs,
                         Attributes attributes, const char* activation) {
  const ValueId old = graph_.node(index).outputs[0];
  attributes.set("activation", std::string(activation));
  graph_.replace(old,
                 graph_.insert(index, bias_op(op), std::move(inputs), std::move(attributes))[0]);
  graph_.remove_unused(old);
}

bool BiasFusion::fuse_bias(int index) {
  const Node& node = graph_.node(index);
  if (!node.is("add") || !fits_(graph_.type(node.outputs[0]).dtype)) return false;
  for (size_t side = 0; side < 2; ++side) {
    const ValueId product = node.inputs[side];
    const ValueId bias = node.inputs[1 - side];
    const Node* linear = graph_.producer(product);
    if (!linear || graph_.uses(product) != 1) continue;
    const Shape& shape = graph_.shape(product);
    if (shape.empty() || graph_.shape(bias) != Shape{shape.back()}) continue;
    const bool conv = linear->is("conv");
    if (!conv && !(linear->is("matmul") && graph_.shape(linear->inputs[1]).rank() == 2)) continue;
    replace(index, conv ? "conv_bias_act" : "matmul_bias_act",
            {linear->inputs[0], linear->inputs[1], bias}, linear->attributes, "");
    return true;
  }
  return false;
}

bool BiasFusion::fuse_activation(int index) {
  const Node& node = graph_.node(index);
  if (!node.is("relu")) return false;
  const Node* linear = with_bias(node.inputs[0], "");
  if (!linear) return false;
  replace(index, linear->op->name, linear->inputs, linear->attributes, "relu");
  return true;
}

bool BiasFusion::fuse_ceiling(int index) {
  const Node& node = graph_.node(index);
  if (!node.is("minimum")) return false;
  for (size_t side = 0; side < 2; ++side) {
    const Node* linear = with_bias(node.inputs[side], "relu");
    if (!linear || !graph_.is_number(node.inputs[1 - side], 6)) continue;
    if (graph_.shape(node.inputs[side]) != graph_.shape(node.outputs[0])) continue;
    replace(index, linear->op->name, linear->inputs, linear->attributes, "relu6");
    return true;
  }
  return false;
}

bool BiasFusion::fuse_residual(int index) {
  const Node& node = graph_.node(index);
  if (!node.is("relu") || graph_.uses(node.inputs[0]) != 1) return false;
  const Node* sum = graph_.producer(node.inputs[0], "add");
  if (!sum || graph_.type(sum->inputs[0]) != graph_.type(sum->inputs[1])) return false;
  for (size_t side = 0; side < 2; ++side) {
    const Node* linear = with_bias(sum->inputs[side], "");
    if (!linear || !linear->is("conv_bias_act") || linear->inputs.size() != 3) continue;
    std::vector<ValueId> inputs = linear->inputs;
    inputs.push_back(sum->inputs[1 - side]);
    replace(index, linear->op->name, std::move(inputs), linear->attributes, "relu");
    return true;
  }
  return false;
}

}  // namespace cornu::passes
