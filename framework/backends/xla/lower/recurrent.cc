// SPDX-License-Identifier: Apache-2.0
// Whole sequences of LSTM cells and GRUs, as loops over their steps.
#include "framework/backends/xla/lowering.h"

namespace cornu::xla {
namespace {

Value product(Writer& to, const Value& a, const Value& b, bool transpose_b) {
  return dot(to, a, b, {{}, {}, {1}, {transpose_b ? 1 : 0}}, a.dtype());
}

Value one_minus(Writer& to, const Value& x) { return subtract(to, like(to, 1, x), x); }
Value slope_of_sigmoid(Writer& to, const Value& y) { return multiply(to, y, one_minus(to, y)); }
Value slope_of_tanh(Writer& to, const Value& y) { return one_minus(to, multiply(to, y, y)); }

// The parts of (batch, gates * units).
Values gates_of(Writer& to, const Value& all, int64_t gates) {
  Values parts;
  const int64_t units = all.shape()[1] / gates;
  for (int64_t i = 0; i < gates; ++i) {
    parts.push_back(slice_axis(to, all, 1, i * units, (i + 1) * units));
  }
  return parts;
}

// A loop over the steps of a recurrence.
struct StepsLoop {
  bool back;                        // from the last step to the first
  Values carries;                   // before the first step that runs
  Values arrays;                    // (time, …): each step gets a slice of them
  Values constants;                 // the same in all steps
  std::vector<TensorType> stacked;  // (time, …): each step gives a slice of them
};
struct StepValues {
  std::span<const Value> carries, slices, constants;
};
struct StepResults {
  Values carries, slices;
};

// Returns the last carries, and what the slices are stacked to.
StepResults over_steps(Writer& to, const StepsLoop& loop,
                       FunctionRef<StepResults(const StepValues&)> body) {
  const int64_t steps = loop.arrays[0].shape()[0];
  Values initial = {splat_int(to, 0, {DType::Int64, {}})};
  const auto append = [](Values& list, std::span<const Value> more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  append(initial, loop.carries);
  for (const TensorType& type : loop.stacked) initial.push_back(splat(to, 0, type));
  append(initial, loop.arrays);
  append(initial, loop.constants);
  const size_t stacks = 1 + loop.carries.size();
  const size_t arrays = stacks + loop.stacked.size();
  const size_t constants = arrays + loop.arrays.size();
  const auto goes_on = [&](std::span<const Value> v) {
    return compare(to, "LT", v[0], splat_int(to, steps, v[0].type));
  };
  const auto turn = [&](std::span<const Value> v) -> Values {
    const Value step = loop.back ? subtract(to, splat_int(to, steps - 1, v[0].type), v[0]) : v[0];
    Values slices;
    for (size_t i = arrays; i < constants; ++i) slices.push_back(row(to, v[i], step));
    const StepResults results =
        body({v.subspan(1, loop.carries.size()), slices, v.subspan(constants)});
    Values next = {add(to, v[0], splat_int(to, 1, v[0].type))};
    append(next, results.carries);
    for (size_t i = 0; i < results.slices.size(); ++i) {
      next.push_back(with_row(to, v[stacks + i], results.slices[i], step));
    }
    append(next, v.subspan(arrays));
    return next;
  };
  const Values results = while_loop(to, initial, goes_on, turn);
  const auto first = results.begin();
  return {
      {first + 1, first + static_cast<std::ptrdiff_t>(stacks)},
      {first + static_cast<std::ptrdiff_t>(stacks), first + static_cast<std::ptrdiff_t>(arrays)}};
}

// `now` for the rows that take a step, `otherwise` for the others, by the slice that is its mask:
// at `mask` of the slices, if there is one.
Value masked(Writer& to, const StepValues& step, size_t mask, const Value& now,
             const Value& otherwise) {
  if (step.slices.size() <= mask) return now;
  const Value& one = step.slices[mask];
  const Value wide = spread(to, reshape(to, one, one.shape().concat(Shape{1})), now.shape());
  return select(to, wide, now, otherwise);
}
Value masked(Writer& to, const StepValues& step, size_t mask, const Value& now) {
  return masked(to, step, mask, now, like(to, 0, now));
}

// The states before each step, given those after it and the first.
Value before_each(Writer& to, const Value& states, const Value& first, bool reverse) {
  const int64_t steps = states.shape()[0];
  const Value own = reshape(to, first, Shape{1}.concat(first.shape()));
  const Value rest =
      reverse ? slice_axis(to, states, 0, 1, steps) : slice_axis(to, states, 0, 0, steps - 1);
  const Value shifted[] = {reverse ? rest : own, reverse ? own : rest};
  return concatenate(to, shifted, 0);
}

std::vector<TensorType> types_of(std::span<const TensorType> types) {
  return {types.begin(), types.end()};
}

// In: inputs, h, c, recurrent_kernel, [mask].
Values lower_lstm(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  StepsLoop loop = {spec.attributes.get_bool("reverse"),
                    {in[1], in[2]},
                    {in[0]},
                    {in[3]},
                    types_of(spec.outputs)};
  if (in.size() > 4) loop.arrays.push_back(in[4]);
  return over_steps(
             to, loop,
             [&](const StepValues& step) -> StepResults {
               const Values sums = gates_of(
                   to,
                   add(to, step.slices[0], product(to, step.carries[0], step.constants[0], false)),
                   4);
               const Value i = unary(to, "logistic", sums[0]);
               const Value f = unary(to, "logistic", sums[1]);
               const Value g = unary(to, "tanh", sums[2]);
               const Value o = unary(to, "logistic", sums[3]);
               const Value now = add(to, multiply(to, f, step.carries[1]), multiply(to, i, g));
               const Value c = masked(to, step, 1, now, step.carries[1]);
               const Value h =
                   masked(to, step, 1, multiply(to, o, unary(to, "tanh", now)), step.carries[0]);
               const Value gates[] = {i, f, g, o};
               return {{h, c}, {h, c, masked(to, step, 1, concatenate(to, gates, 1))}};
             })
      .slices;
}

// In: gates, c of all steps, initial c, recurrent_kernel, the gradients of h and c of all steps,
// [mask].
Values lower_lstm_grad(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const bool reverse = spec.attributes.get_bool("reverse");
  StepsLoop loop = {!reverse,
                    {splat(to, 0, spec.outputs[1]), splat(to, 0, spec.outputs[2])},
                    {in[0], in[1], before_each(to, in[1], in[2], reverse), in[4], in[5]},
                    {in[3]},
                    {spec.outputs[0]}};
  if (in.size() > 6) loop.arrays.push_back(in[6]);
  const StepResults results = over_steps(to, loop, [&](const StepValues& step) -> StepResults {
    const Values gates = gates_of(to, step.slices[0], 4);
    const Value &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
    const Value dh = add(to, step.slices[3], step.carries[0]);
    const Value dc_after = add(to, step.slices[4], step.carries[1]);
    const Value tanh_c = unary(to, "tanh", step.slices[1]);
    const Value dc =
        add(to, dc_after, multiply(to, multiply(to, dh, o), slope_of_tanh(to, tanh_c)));
    const Value parts[] = {multiply(to, multiply(to, dc, g), slope_of_sigmoid(to, i)),
                           multiply(to, multiply(to, dc, step.slices[2]), slope_of_sigmoid(to, f)),
                           multiply(to, multiply(to, dc, i), slope_of_tanh(to, g)),
                           multiply(to, multiply(to, dh, tanh_c), slope_of_sigmoid(to, o))};
    const Value sums = masked(to, step, 5, concatenate(to, parts, 1));
    return {{masked(to, step, 5, product(to, sums, step.constants[0], true), dh),
             masked(to, step, 5, multiply(to, dc, f), dc_after)},
            {sums}};
  });
  return {results.slices[0], results.carries[0], results.carries[1]};
}

// In: inputs, h, recurrent_kernel, recurrent_bias, [mask].
Values lower_gru(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  StepsLoop loop = {spec.attributes.get_bool("reverse"),
                    {in[1]},
                    {in[0]},
                    {in[2], in[3]},
                    types_of(spec.outputs)};
  if (in.size() > 4) loop.arrays.push_back(in[4]);
  return over_steps(to, loop,
                    [&](const StepValues& step) -> StepResults {
                      const Value& before = step.carries[0];
                      const Value plain = product(to, before, step.constants[0], false);
                      const Values products = gates_of(
                          to, add(to, plain, spread(to, step.constants[1], plain.shape())), 3);
                      const Values inputs = gates_of(to, step.slices[0], 3);
                      const Value z = unary(to, "logistic", add(to, inputs[0], products[0]));
                      const Value r = unary(to, "logistic", add(to, inputs[1], products[1]));
                      const Value n =
                          unary(to, "tanh", add(to, inputs[2], multiply(to, r, products[2])));
                      const Value now =
                          add(to, multiply(to, z, before), multiply(to, one_minus(to, z), n));
                      const Value h = masked(to, step, 1, now, before);
                      const Value gates[] = {z, r, n};
                      return {{h},
                              {h, masked(to, step, 1, concatenate(to, gates, 1)),
                               masked(to, step, 1, products[2])}};
                    })
      .slices;
}

// In: gates, h of all steps, initial h, recurrent_kernel, the gradient of h of all steps, the
// candidates' products, [mask].
Values lower_gru_grad(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const bool reverse = spec.attributes.get_bool("reverse");
  StepsLoop loop = {!reverse,
                    {splat(to, 0, spec.outputs[1])},
                    {in[0], before_each(to, in[1], in[2], reverse), in[4], in[5]},
                    {in[3]},
                    {spec.outputs[0], spec.outputs[2]}};
  if (in.size() > 6) loop.arrays.push_back(in[6]);
  const StepResults results = over_steps(to, loop, [&](const StepValues& step) -> StepResults {
    const Values gates = gates_of(to, step.slices[0], 3);
    const Value &z = gates[0], &r = gates[1], &n = gates[2];
    const Value dh = add(to, step.slices[2], step.carries[0]);
    const Value dz =
        multiply(to, multiply(to, dh, subtract(to, step.slices[1], n)), slope_of_sigmoid(to, z));
    const Value dn = multiply(to, multiply(to, dh, one_minus(to, z)), slope_of_tanh(to, n));
    const Value dr = multiply(to, multiply(to, dn, step.slices[3]), slope_of_sigmoid(to, r));
    const Value of_inputs[] = {dz, dr, dn};
    const Value of_products[] = {dz, dr, multiply(to, dn, r)};
    const Value products = masked(to, step, 4, concatenate(to, of_products, 1));
    const Value before =
        add(to, multiply(to, dh, z), product(to, products, step.constants[0], true));
    return {{masked(to, step, 4, before, dh)},
            {masked(to, step, 4, concatenate(to, of_inputs, 1)), products}};
  });
  return {results.slices[0], results.carries[0], results.slices[1]};
}

}  // namespace

void register_recurrent(LoweringTable& table) {
  table.add("lstm", lower_lstm);
  table.add("lstm_grad", lower_lstm_grad);
  table.add("gru", lower_gru);
  table.add("gru_grad", lower_gru_grad);
}

}  // namespace cornu::xla
