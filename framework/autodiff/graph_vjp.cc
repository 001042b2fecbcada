// SPDX-License-Identifier: Apache-2.0
#include "framework/autodiff/graph_vjp.h"

#include <algorithm>

#include "framework/graph/trace.h"
#include "framework/ops/ops.h"

namespace cornu {

std::vector<Tensor> apply_vjp(const OpDef& op, const VjpContext& context) {
  check<Unimplemented>(static_cast<bool>(op.vjp),
                       "GradientTape: the op '{}' has no gradient. Keep it off the way from the "
                       "sources to the target, or put ops::stop_gradient around it.",
                       op.name);
  return op.vjp(context);
}

std::vector<bool> dependent_values(const Graph& graph, const std::vector<ValueId>& on) {
  std::vector<bool> dependent(graph.types.size(), false);
  for (ValueId id : on) dependent[static_cast<size_t>(id)] = true;
  for (const Node& node : graph.nodes) {
    const bool depends =
        node.op->traits.differentiable && std::ranges::any_of(node.inputs, [&](ValueId id) {
          return dependent[static_cast<size_t>(id)];
        });
    if (!depends) continue;
    for (ValueId id : node.outputs) {
      dependent[static_cast<size_t>(id)] = is_floating(graph.type(id).dtype);
    }
  }
  return dependent;
}

std::vector<Tensor> graph_vjp(const Graph& graph, const std::vector<Tensor>& values,
                              const std::vector<Tensor>& of_outputs,
                              const std::vector<bool>& dependent) {
  std::vector<Tensor> gradients(graph.types.size());
  auto add = [&](ValueId id, const Tensor& gradient) {
    if (!gradient.defined() || !dependent[static_cast<size_t>(id)]) return;
    Tensor& sum = gradients[static_cast<size_t>(id)];
    sum = sum.defined() ? sum + gradient : gradient;
  };
  for (size_t i = 0; i < graph.outputs.size(); ++i) add(graph.outputs[i], of_outputs[i]);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    std::vector<Tensor> of_node;
    for (ValueId id : node.outputs) of_node.push_back(gradients[static_cast<size_t>(id)]);
    std::vector<bool> needed;
    for (ValueId id : node.inputs) needed.push_back(dependent[static_cast<size_t>(id)]);
    const auto is_defined = [](const Tensor& tensor) { return tensor.defined(); };
    if (std::ranges::none_of(of_node, is_defined) || std::ranges::count(needed, true) == 0) {
      continue;
    }
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    for (ValueId id : node.inputs) inputs.push_back(values[static_cast<size_t>(id)]);
    for (ValueId id : node.outputs) outputs.push_back(values[static_cast<size_t>(id)]);
    const std::vector<Tensor> of_inputs =
        apply_vjp(*node.op, {inputs, outputs, of_node, node.attributes, needed});
    for (size_t i = 0; i < of_inputs.size(); ++i) add(node.inputs[i], of_inputs[i]);
  }
  return gradients;
}

Tensor with_own_identity(const Tensor& x) {
  return (x - 0).with_mask(x.mask());  // + 0 would make 0 of -0
}

std::vector<Tensor> gradients_through(
    FunctionRef<std::vector<Tensor>(const std::vector<Tensor>&)> f,
    const std::vector<Tensor>& operands, const std::vector<Tensor>& of_outputs,
    const std::vector<bool>& needed, UnconnectedGradients unconnected) {
  GradientTape tape({.watch_accessed_variables = false});
  std::vector<Tensor> own;
  std::vector<Tensor> sources;
  for (size_t i = 0; i < operands.size(); ++i) {
    own.push_back(needed[i] ? with_own_identity(operands[i]) : operands[i]);
    if (!needed[i]) continue;
    tape.watch(own.back());
    sources.push_back(own.back());
  }
  const std::vector<Tensor> outputs = f(own);
  std::vector<Tensor> targets;
  std::vector<Tensor> seeds;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!of_outputs[i].defined()) continue;
    targets.push_back(outputs[i]);
    seeds.push_back(of_outputs[i]);
  }
  return tape.gradient(Tensors(targets), sources,
                       {.output_gradients = Tensors(seeds), .unconnected_gradients = unconnected});
}

std::vector<Tensor> by_operand(const std::vector<Tensor>& gradients,
                               const std::vector<bool>& needed) {
  std::vector<Tensor> result(needed.size());
  size_t next = 0;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) result[i] = gradients[next++];
  }
  return result;
}

std::vector<Tensor> replayed_gradients(const Graph& graph, const std::vector<Tensor>& operands,
                                       const std::vector<Tensor>& of_outputs,
                                       const std::vector<bool>& needed,
                                       UnconnectedGradients unconnected) {
  return gradients_through([&](const std::vector<Tensor>& own) { return replay(graph, own); },
                           operands, of_outputs, needed, unconnected);
}

}  // namespace cornu
