// SPDX-License-Identifier: Apache-2.0
#include "framework/autodiff/recurrent_vjps.h"

#include <functional>

#include "framework/autodiff/graph_vjp.h"
#include "framework/ops/ops.h"
#include "framework/ops/recurrent_states.h"

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

// `now` for the rows that take a step, `otherwise` for the others. `mask` is the step's slice of a
// recurrence's mask; undefined if it has none.
Tensor masked(const Tensor& mask, const Tensor& now, const Tensor& otherwise) {
  return mask.defined() ? ops::where(ops::expand_dims(mask, -1), now, otherwise) : now;
}
Tensor masked(const Tensor& mask, const Tensor& now) {
  return masked(mask, now, ops::zeros_like(now));
}
// The operand at `index`; undefined if there are fewer.
Tensor optional(const Results& operands, size_t index) {
  return index < operands.size() ? operands[index] : Tensor();
}

// Scans over `xs`, followed by the mask if it is defined.
std::pair<Results, Results> scan_masked(
    const std::function<std::pair<Results, Results>(const Results&, const Results&)>& step,
    const Results& initial, Results xs, const Tensor& mask, bool reverse) {
  if (mask.defined()) xs.push_back(mask);
  return ops::scan(step, initial, xs, {.reverse = reverse});
}

// inputs, h, c, recurrent_kernel, [mask] -> h of all steps, c of all steps, gates.
Results lstm_steps(const std::vector<Tensor>& in, bool reverse) {
  const Tensor& kernel = in[3];
  const auto step = [&](const Results& states, const Results& x) {
    const Tensor mask = optional(x, 1);
    const Results z = ops::split(x[0] + ops::matmul(states[0], kernel), 4, -1);
    const Tensor input = ops::sigmoid(z[0]), forget = ops::sigmoid(z[1]);
    const Tensor cell = ops::tanh(z[2]), output = ops::sigmoid(z[3]);
    const Tensor now = forget * states[1] + input * cell;
    const Tensor c = masked(mask, now, states[1]);
    const Tensor h = masked(mask, output * ops::tanh(now), states[0]);
    const Tensor gates = ops::concatenate({input, forget, cell, output}, -1);
    return std::pair(Results{h, c}, Results{h, c, masked(mask, gates)});
  };
  return scan_masked(step, {in[1], in[2]}, {in[0]}, optional(in, 4), reverse).second;
}

// gates, c of all steps, c, recurrent_kernel, the gradients of h and c of all steps, [mask] ->
// gradients of inputs, h and c.
Results lstm_grad_steps(const std::vector<Tensor>& in, bool reverse) {
  const Tensor back = ops::transpose(in[3]);
  const auto step = [&](const Results& of_states, const Results& x) {
    const Tensor mask = optional(x, 5);
    const Results gates = ops::split(x[0], 4, -1);
    const Tensor &input = gates[0], &forget = gates[1], &cell = gates[2], &output = gates[3];
    const Tensor squashed = ops::tanh(x[1]);
    const Tensor of_h = of_states[0] + x[3];
    const Tensor of_c_after = of_states[1] + x[4];
    const Tensor of_c = of_c_after + of_h * output * (1 - squashed * squashed);
    const Tensor of_z = masked(
        mask, ops::concatenate(
                  {of_c * cell * input * (1 - input), of_c * x[2] * forget * (1 - forget),
                   of_c * input * (1 - cell * cell), of_h * squashed * output * (1 - output)},
                  -1));
    return std::pair(Results{masked(mask, ops::matmul(of_z, back), of_h),
                             masked(mask, of_c * forget, of_c_after)},
                     Results{of_z});
  };
  const Tensor none = ops::zeros_like(in[2]);
  const auto [of_states, of_inputs] =
      scan_masked(step, {none, none},
                  {in[0], in[1], ops::internal::states_before(in[1], in[2], reverse), in[4], in[5]},
                  optional(in, 6), !reverse);
  return {of_inputs[0], of_states[0], of_states[1]};
}

// inputs, h, recurrent_kernel, recurrent_bias, [mask] -> h of all steps, gates, the candidates'
// products.
Results gru_steps(const std::vector<Tensor>& in, bool reverse) {
  const Tensor &kernel = in[2], &bias = in[3];
  const auto step = [&](const Results& states, const Results& x) {
    const Tensor mask = optional(x, 1);
    const Results inputs = ops::split(x[0], 3, -1);
    const Results products = ops::split(ops::matmul(states[0], kernel) + bias, 3, -1);
    const Tensor update = ops::sigmoid(inputs[0] + products[0]);
    const Tensor reset = ops::sigmoid(inputs[1] + products[1]);
    const Tensor candidate = ops::tanh(inputs[2] + reset * products[2]);
    const Tensor h = masked(mask, update * states[0] + (1 - update) * candidate, states[0]);
    const Tensor gates = ops::concatenate({update, reset, candidate}, -1);
    return std::pair(Results{h}, Results{h, masked(mask, gates), masked(mask, products[2])});
  };
  return scan_masked(step, {in[1]}, {in[0]}, optional(in, 4), reverse).second;
}

// gates, h of all steps, h, recurrent_kernel, the gradient of h of all steps, the candidates'
// products, [mask] -> gradients of inputs, h and the products.
Results gru_grad_steps(const std::vector<Tensor>& in, bool reverse) {
  const Tensor back = ops::transpose(in[3]);
  const auto step = [&](const Results& of_states, const Results& x) {
    const Tensor mask = optional(x, 4);
    const Results gates = ops::split(x[0], 3, -1);
    const Tensor &update = gates[0], &reset = gates[1], &candidate = gates[2];
    const Tensor of_h = of_states[0] + x[2];
    const Tensor of_update = of_h * (x[1] - candidate) * update * (1 - update);
    const Tensor of_candidate = of_h * (1 - update) * (1 - candidate * candidate);
    const Tensor of_reset = of_candidate * x[3] * reset * (1 - reset);
    const Tensor of_inputs =
        masked(mask, ops::concatenate({of_update, of_reset, of_candidate}, -1));
    const Tensor of_products =
        masked(mask, ops::concatenate({of_update, of_reset, of_candidate * reset}, -1));
    const Tensor before = masked(mask, of_h * update + ops::matmul(of_products, back), of_h);
    return std::pair(Results{before}, Results{of_inputs, of_products});
  };
  const auto [of_states, of_steps] =
      scan_masked(step, {ops::zeros_like(in[2])},
                  {in[0], ops::internal::states_before(in[1], in[2], reverse), in[4], in[5]},
                  optional(in, 6), !reverse);
  return {of_steps[0], of_states[0], of_steps[1]};
}

// Adds the vjp of an op's other results than states, which are those below `states`.
void add_vjp_of_steps(OpRegistry& registry, const char* op, size_t states, const Steps& steps) {
  registry.set_vjp(op, [states, steps, of_states = registry.at(op).vjp](const VjpContext& c) {
    bool only_states = true;
    for (size_t i = states; i < 3; ++i) only_states = only_states && !c.gradient(i).defined();
    return only_states ? of_states(c) : vjp_of_steps(c, steps);
  });
}

}  // namespace

void register_recurrent_vjps(OpRegistry& registry) {
  add_vjp_of_steps(registry, "lstm", 2, lstm_steps);
  add_vjp_of_steps(registry, "gru", 1, gru_steps);
  registry.set_vjp("lstm_grad",
                   [](const VjpContext& c) { return vjp_of_steps(c, lstm_grad_steps); });
  registry.set_vjp("gru_grad", [](const VjpContext& c) { return vjp_of_steps(c, gru_grad_steps); });
}

}  // namespace cornu
