// SPDX-License-Identifier: Apache-2.0
#include "framework/autodiff/jvp.h"

#include "framework/autodiff/graph_vjp.h"
#include "framework/ops/ops.h"

namespace cornu::ops::internal {
namespace {

void check_directions(const std::vector<Tensor>& primals, const std::vector<Tensor>& tangents) {
  check<InvalidArgument>(primals.size() == tangents.size(),
                         "jvp: expected a tangent for each of {} primals, got {}.", primals.size(),
                         tangents.size());
  for (size_t i = 0; i < primals.size(); ++i) {
    check<InvalidArgument>(primals[i].defined() && tangents[i].defined(),
                           "jvp: expected tensors, got an undefined one at place {}.", i);
    check<InvalidArgument>(is_floating(primals[i].dtype()),
                           "jvp: expected primals of floating-point dtypes, got {} at place {}.",
                           primals[i].dtype(), i);
    check<InvalidArgument>(
        tangents[i].shape() == primals[i].shape() && tangents[i].dtype() == primals[i].dtype(),
        "jvp: expected a tangent of its primal's shape {} and dtype {}, got {} and {} at place {}.",
        primals[i].shape(), primals[i].dtype(), tangents[i].shape(), tangents[i].dtype(), i);
  }
}

}  // namespace

// The gradient of the outputs, weighted by v, is linear in v: its own gradient with respect to v,
// weighted by the tangents, is the Jacobian times the tangents, whatever v is.
std::pair<std::vector<Tensor>, std::vector<Tensor>> jvp(const FunctionOfTensors& f,
                                                        const std::vector<Tensor>& primals,
                                                        const std::vector<Tensor>& tangents) {
  check_directions(primals, tangents);
  constexpr GradientTapeOptions kGivenOnly = {.watch_accessed_variables = false};
  GradientTape backward(kGivenOnly);
  std::vector<Tensor> own;  // f may capture a primal, or get one twice
  for (const Tensor& primal : primals) {
    own.push_back(with_own_identity(primal));
    backward.watch(own.back());
  }
  std::vector<Tensor> outputs = f(own);
  std::vector<Tensor> targets;
  std::vector<Tensor> weights;
  GradientTape forward(kGivenOnly);
  for (Tensor& output : outputs) {
    output = output.strong();
    if (!is_floating(output.dtype())) continue;
    targets.push_back(output);
    weights.push_back(zeros_like(output));
    forward.watch(weights.back());
  }
  const std::vector<Tensor> gradients = backward.gradient(
      Tensors(targets), own,
      {.output_gradients = Tensors(weights), .unconnected_gradients = UnconnectedGradients::Zero});
  const std::vector<Tensor> found = forward.gradient(
      Tensors(gradients), weights,
      {.output_gradients = Tensors(tangents), .unconnected_gradients = UnconnectedGradients::Zero});
  std::vector<Tensor> changes;
  size_t next = 0;
  for (const Tensor& output : outputs) {
    changes.push_back(is_floating(output.dtype()) ? found[next++] : zeros_like(output));
  }
  return {std::move(outputs), std::move(changes)};
}

}  // namespace cornu::ops::internal
