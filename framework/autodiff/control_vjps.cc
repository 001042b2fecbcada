// SPDX-License-Identifier: Apache-2.0
#include "framework/autodiff/control_vjps.h"

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/trace.h"
#include "framework/ops/ops.h"
#include "framework/ops/register.h"

namespace cornu {
namespace {

// The gradients of a branch for those operands that need one.
std::vector<Tensor> branch_gradients(const Graph& branch, const std::vector<Tensor>& operands,
                                     const std::vector<Tensor>& of_outputs,
                                     const std::vector<bool>& needed) {
  GradientTape tape({.watch_accessed_variables = false});
  std::vector<Tensor> own;  // fresh identities: an operand may be given twice
  std::vector<Tensor> sources;
  for (size_t i = 0; i < operands.size(); ++i) {
    own.push_back(needed[i] ? operands[i] + 0 : operands[i]);
    if (!needed[i]) continue;
    tape.watch(own.back());
    sources.push_back(own.back());
  }
  const std::vector<Tensor> outputs = replay(branch, own);
  std::vector<Tensor> targets;
  std::vector<Tensor> seeds;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!of_outputs[i].defined()) continue;
    targets.push_back(outputs[i]);
    seeds.push_back(of_outputs[i]);
  }
  return tape.gradient(
      Tensors(targets), sources,
      {.output_gradients = Tensors(seeds), .unconnected_gradients = UnconnectedGradients::Zero});
}

std::vector<Tensor> cond_vjp(const VjpContext& c) {
  const std::vector<Tensor> operands(c.inputs.begin() + 1, c.inputs.end());
  const std::vector<bool> needed(c.needed.begin() + 1, c.needed.end());
  auto branch = [&](const char* name) {
    return [&, name] {
      return branch_gradients(c.attributes.get_graph(name), operands, c.output_gradients, needed);
    };
  };
  const std::function<std::vector<Tensor>()> then = branch("then");
  const std::function<std::vector<Tensor>()> otherwise = branch("else");
  const std::vector<Tensor> wanted = ops::cond(c.in(0), then, otherwise);
  std::vector<Tensor> result(c.inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (needed[i]) result[i + 1] = wanted[next++];
  }
  return result;
}

std::vector<Tensor> while_vjp(const VjpContext&) {
  raise<Unimplemented>(
      "while_loop: a traced loop has no gradient, since its number of steps isn't known. Unroll "
      "it, "
      "or take the gradient eagerly.");
}

}  // namespace

void register_control_vjps() {
  ops::ensure_registered();
  OpRegistry::global().set_vjp("cond", cond_vjp);
  OpRegistry::global().set_vjp("while", while_vjp);
}

}  // namespace cornu
