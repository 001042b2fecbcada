// SPDX-License-Identifier: Apache-2.0
#include "framework/autodiff/composite_vjp.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "framework/autodiff/graph_vjp.h"
#include "framework/graph/at_once.h"
#include "framework/graph/graph.h"

namespace cornu {
namespace {

// Whether the graph's gradient is elementwise, too: nothing is broadcast, whose gradient is a sum.
bool has_elementwise_gradient(const Graph& graph) {
  const Shape& shape = graph.type(graph.outputs.front()).shape;
  return std::ranges::all_of(graph.nodes,
                             [](const Node& node) { return node.op->traits.elementwise; }) &&
         std::ranges::all_of(graph.inputs,
                             [&](ValueId input) { return graph.type(input).shape == shape; });
}

std::vector<Tensor> composite_vjp(const VjpContext& c) {
  static const auto* kElementwise = new OpDef{
      .name = "gradient_of_composite", .infer = {}, .vjp = {}, .traits = {.elementwise = true}};
  static const auto* kWithSums =
      new OpDef{.name = "gradient_of_composite", .infer = {}, .vjp = {}, .traits = {}};
  const Graph& body = c.attributes.get_graph("body");
  const size_t inputs = c.inputs.size();
  std::vector<Tensor> operands = c.inputs;
  std::vector<int64_t> given;  // the outputs that have a gradient
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (!c.gradient(i).defined()) continue;
    given.push_back(static_cast<int64_t>(i));
    operands.push_back(c.gradient(i).strong());
  }
  Attributes attributes = c.attributes;
  attributes.set("given", given);
  attributes.set("needed", std::vector<int64_t>(c.needed.begin(), c.needed.end()));
  const std::vector<Tensor> gradients =
      compute_at_once(has_elementwise_gradient(body) ? *kElementwise : *kWithSums, operands,
                      attributes, [&](const std::vector<Tensor>& all) {
                        std::vector<Tensor> of_outputs(c.outputs.size());
                        for (size_t i = 0; i < given.size(); ++i) {
                          of_outputs[static_cast<size_t>(given[i])] = all[inputs + i];
                        }
                        const auto first_gradient = all.begin() + static_cast<int64_t>(inputs);
                        return replayed_gradients(body, {all.begin(), first_gradient}, of_outputs,
                                                  c.needed, UnconnectedGradients::None);
                      });
  return by_operand(gradients, c.needed);
}

}  // namespace

void register_composite_vjp() { set_composite_vjp(composite_vjp); }

}  // namespace cornu
