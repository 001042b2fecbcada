// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/recurrent.h"

#include "framework/ops/creation.h"
#include "framework/ops/definition.h"
#include "framework/ops/matmul.h"
#include "framework/ops/register.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

// lstm: inputs, h, c, recurrent_kernel -> h of all steps, c of all steps, gates (activated).
Types infer_lstm(TypeSpan in, const Attributes&) {
  require_inputs(in, 4, "lstm");
  for (const TensorType& type : in) {
    check<InvalidArgument>(type.dtype == DType::Float32, "lstm: expected float32, got {}.",
                           type.dtype);
  }
  const Shape& gates = in[0].shape;
  check<InvalidArgument>(gates.rank() == 3 && gates[0] >= 1 && gates[2] >= 4 && gates[2] % 4 == 0,
                         "lstm: expected inputs (time, batch, 4 units), time >= 1, got {}.", gates);
  require_sizes(gates, "lstm");
  const int64_t units = gates[2] / 4;
  const Shape state = {gates[1], units};
  require_shape(in[1], state, "lstm", "h");
  require_shape(in[2], state, "lstm", "c");
  require_shape(in[3], {units, 4 * units}, "lstm", "recurrent_kernel");
  const TensorType states{DType::Float32, {gates[0], gates[1], units}};
  return {states, states, {DType::Float32, gates}};
}

// lstm_grad: gates, c of all steps, c before, recurrent_kernel, the gradients of h and c of all
// steps -> the gradients of inputs, h and c before.
Types infer_lstm_grad(TypeSpan in, const Attributes&) {
  require_inputs(in, 6, "lstm_grad");
  const Types forward = infer_lstm(std::vector<TensorType>{in[0], in[2], in[2], in[3]}, {});
  for (const size_t i : {1, 4, 5}) {
    require_shape(in[i], forward[0].shape, "lstm_grad", "a value of each step");
    check<InvalidArgument>(in[i].dtype == DType::Float32, "lstm_grad: expected float32, got {}.",
                           in[i].dtype);
  }
  return {in[0], in[2], in[2]};
}

Tensor gradient_or_zeros(const VjpContext& c, size_t output) {
  const Tensor& gradient = c.gradient(output);
  return gradient.defined() ? gradient : zeros_like(c.out(output));
}

// The gradient through the states; autodiff/recurrent_vjps.h has that through the gates, and that
// of lstm_grad.
Gradients lstm_vjp(const VjpContext& c) {
  const Attributes& attributes = c.attributes;
  const Tensor& before = c.in(1);
  const Tensor& states = c.out(0);
  const std::vector<Tensor> gradients = apply(
      op<"lstm_grad">(),
      {c.out(2), c.out(1), c.in(2), c.in(3), gradient_or_zeros(c, 0), gradient_or_zeros(c, 1)},
      attributes);
  const int64_t steps = states.dim(0);
  const Tensor first = expand_dims(before, 0);
  const Tensor previous = attributes.get_bool("reverse")
                              ? concatenate({slice_axis(states, 0, 1), first}, 0)
                              : concatenate({first, slice_axis(states, 0, 0, steps - 1)}, 0);
  const int64_t units = states.dim(2);
  const Tensor of_kernel = matmul(reshape(previous, {-1, units}),
                                  reshape(gradients[0], {-1, 4 * units}), {.transpose_x1 = true});
  return {gradients[0], gradients[1], gradients[2], of_kernel};
}

}  // namespace

LstmResult lstm(const Tensor& inputs, const Tensor& h, const Tensor& c,
                const Tensor& recurrent_kernel, const LstmOptions& options) {
  const std::vector<Tensor> outputs =
      apply(op<"lstm">(), {inputs, h, c, recurrent_kernel}, {{"reverse", options.go_backwards}});
  const int64_t last = options.go_backwards ? 0 : inputs.dim(0) - 1;
  const auto of_last = [&](const Tensor& x) {
    return squeeze(slice_axis(x, 0, last, last + 1), 0);
  };
  return {outputs[0], of_last(outputs[0]), of_last(outputs[1])};
}

void register_recurrent(OpRegistry& registry) {
  registry.add({.name = "lstm", .infer = infer_lstm, .vjp = lstm_vjp, .traits = {}});
  registry.add({.name = "lstm_grad", .infer = infer_lstm_grad, .vjp = {}, .traits = {}});
}

}  // namespace cornu::ops
