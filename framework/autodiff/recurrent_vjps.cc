// SPDX-License-Identifier: Apache-2.0
#include "framework/autodiff/recurrent_vjps.h"

#include <functional>

#include "framework/autodiff/graph_vjp.h"
#include "framework/ops/ops.h"

namespace cornu {
namespace {

using Results = std::vector<Tensor>;
using Steps = std::function<Results(const std::vector<Tensor>& inputs, bool reverse)>;

// The vjp of an op that computes the same as `steps`.
Results vjp_of_steps(const VjpContext& c, const Steps& steps) {
  const bool reverse = c.attributes.get_bool("reverse");
  const Results wanted =
      gradients_through([&](const std::vector<Tensor>& own) { return steps(own, reverse); },
                        c.inputs, c.output_gradients, c.needed, UnconnectedGradients::Zero);
  return by_operand(wanted, c.needed);
}

// The states before each step, given those after it.
Tensor before_each(const Tensor& states, const Tensor& first, bool reverse) {
  const int64_t steps = states.dim(0);
  const Tensor row = ops::expand_dims(first, 0);
  return reverse ? ops::concatenate({states[Slice(1, steps)], row}, 0)
                 : ops::concatenate({row, states[Slice(0, steps - 1)]}, 0);
}

// inputs, h, c, recurrent_kernel -> h of all steps, c of all steps, gates.
Results lstm_steps(const std::vector<Tensor>& in, bool reverse) {
  const Tensor& kernel = in[3];
  const auto step = [&](const Results& states, const Results& x) {
    const Results z = ops::split(x[0] + ops::matmul(states[0], kernel), 4, -1);
    const Tensor input = ops::sigmoid(z[0]), forget = ops::sigmoid(z[1]);
    const Tensor cell = ops::tanh(z[2]), output = ops::sigmoid(z[3]);
    const Tensor c = forget * states[1] + input * cell;
    const Tensor h = output * ops::tanh(c);
    return std::pair(Results{h, c},
                     Results{h, c, ops::concatenate({input, forget, cell, output}, -1)});
  };
  return ops::scan(step, Results{in[1], in[2]}, Results{in[0]}, {.reverse = reverse}).second;
}

// gates, c of all steps, c, recurrent_kernel, the gradients of h and c of all steps -> gradients of
// inputs, h and c.
Results lstm_grad_steps(const std::vector<Tensor>& in, bool reverse) {
  const Tensor back = ops::transpose(in[3]);
  const auto step = [&](const Results& of_states, const Results& x) {
    const Results gates = ops::split(x[0], 4, -1);
    const Tensor &input = gates[0], &forget = gates[1], &cell = gates[2], &output = gates[3];
    const Tensor squashed = ops::tanh(x[1]);
    const Tensor of_h = of_states[0] + x[3];
    const Tensor of_c = of_states[1] + x[4] + of_h * output * (1 - squashed * squashed);
    const Tensor of_z = ops::concatenate(
        {of_c * cell * input * (1 - input), of_c * x[2] * forget * (1 - forget),
         of_c * input * (1 - cell * cell), of_h * squashed * output * (1 - output)},
        -1);
    return std::pair(Results{ops::matmul(of_z, back), of_c * forget}, Results{of_z});
  };
  const Tensor none = ops::zeros_like(in[2]);
  const auto [of_states, of_inputs] =
      ops::scan(step, Results{none, none},
                Results{in[0], in[1], before_each(in[1], in[2], reverse), in[4], in[5]},
                {.reverse = !reverse});
  return {of_inputs[0], of_states[0], of_states[1]};
}

}  // namespace

void register_recurrent_vjps(OpRegistry& registry) {
  registry.set_vjp("lstm", [of_states = registry.at("lstm").vjp](const VjpContext& c) {
    return c.gradient(2).defined() ? vjp_of_steps(c, lstm_steps) : of_states(c);
  });
  registry.set_vjp("lstm_grad",
                   [](const VjpContext& c) { return vjp_of_steps(c, lstm_grad_steps); });
}

}  // namespace cornu
