// SPDX-License-Identifier: Apache-2.0
// Whole sequences of LSTM cells, as loops over their steps.
#include "framework/backends/xla/lowering.h"

namespace cornu::xla {
namespace {

// The four parts of (batch, 4 units).
struct Gates {
  Gates(Writer& to, const Value& all) {
    const int64_t units = all.shape()[1] / 4;
    for (int64_t i = 0; i < 4; ++i) parts[i] = slice_axis(to, all, 1, i * units, (i + 1) * units);
  }
  Value parts[4];  // input, forget, cell, output
};

Value product(Writer& to, const Value& a, const Value& b, bool transpose_b) {
  return dot(to, a, b, {{}, {}, {1}, {transpose_b ? 1 : 0}}, a.dtype());
}

// The step of an iteration, in a loop that runs forward or backward.
Value step_of(Writer& to, const Value& turn, int64_t steps, bool back) {
  return back ? subtract(to, splat_int(to, steps - 1, turn.type), turn) : turn;
}

Values lower_lstm(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const int64_t steps = in[0].shape()[0];
  const bool reverse = spec.attributes.get_bool("reverse");
  const Values initial = {splat_int(to, 0, {DType::Int64, {}}),
                          in[1],
                          in[2],
                          splat(to, 0, spec.outputs[0]),
                          splat(to, 0, spec.outputs[1]),
                          splat(to, 0, spec.outputs[2]),
                          in[0],
                          in[3]};
  const auto goes_on = [&](std::span<const Value> v) {
    return compare(to, "LT", v[0], splat_int(to, steps, v[0].type));
  };
  const auto turn = [&](std::span<const Value> v) -> Values {
    const Value step = step_of(to, v[0], steps, reverse);
    const Gates sums(to, add(to, row(to, v[6], step), product(to, v[1], v[7], false)));
    const Value i = unary(to, "logistic", sums.parts[0]);
    const Value f = unary(to, "logistic", sums.parts[1]);
    const Value g = unary(to, "tanh", sums.parts[2]);
    const Value o = unary(to, "logistic", sums.parts[3]);
    const Value c = add(to, multiply(to, f, v[2]), multiply(to, i, g));
    const Value h = multiply(to, o, unary(to, "tanh", c));
    const Value gates[] = {i, f, g, o};
    return {add(to, v[0], splat_int(to, 1, v[0].type)),
            h,
            c,
            with_row(to, v[3], h, step),
            with_row(to, v[4], c, step),
            with_row(to, v[5], concatenate(to, gates, 1), step),
            v[6],
            v[7]};
  };
  const Values results = while_loop(to, initial, goes_on, turn);
  return {results[3], results[4], results[5]};
}

// The gradient of a step's sums, and of the previous cell state.
std::pair<Value, Value> step_gradient(Writer& to, const Gates& gates, const Value& c,
                                      const Value& before, const Value& dh, const Value& dc_after) {
  const auto of_sigmoid = [&](const Value& y) {
    return multiply(to, y, subtract(to, like(to, 1, y), y));
  };
  const auto of_tanh = [&](const Value& y) {
    return subtract(to, like(to, 1, y), multiply(to, y, y));
  };
  const auto& [i, f, g, o] = gates.parts;
  const Value tanh_c = unary(to, "tanh", c);
  const Value dc = add(to, dc_after, multiply(to, multiply(to, dh, o), of_tanh(tanh_c)));
  const Value parts[] = {multiply(to, multiply(to, dc, g), of_sigmoid(i)),
                         multiply(to, multiply(to, dc, before), of_sigmoid(f)),
                         multiply(to, multiply(to, dc, i), of_tanh(g)),
                         multiply(to, multiply(to, dh, tanh_c), of_sigmoid(o))};
  return {concatenate(to, parts, 1), multiply(to, dc, f)};
}

// In: gates, c of all steps, initial c, recurrent_kernel, the gradients of h and c of all steps.
Values lower_lstm_grad(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const int64_t steps = in[0].shape()[0];
  const bool reverse = spec.attributes.get_bool("reverse");
  const Value first = reshape(to, in[2], Shape{1}.concat(in[2].shape()));
  const Value rest =
      reverse ? slice_axis(to, in[1], 0, 1, steps) : slice_axis(to, in[1], 0, 0, steps - 1);
  Values shifted = {first, rest};
  if (reverse) std::swap(shifted[0], shifted[1]);
  const Values initial = {splat_int(to, 0, {DType::Int64, {}}),
                          splat(to, 0, spec.outputs[1]),  // dh
                          splat(to, 0, spec.outputs[2]),  // dc
                          splat(to, 0, spec.outputs[0]),
                          in[0],
                          in[1],
                          concatenate(to, shifted, 0),
                          in[3],
                          in[4],
                          in[5]};
  const auto goes_on = [&](std::span<const Value> v) {
    return compare(to, "LT", v[0], splat_int(to, steps, v[0].type));
  };
  const auto turn = [&](std::span<const Value> v) -> Values {
    const Value step = step_of(to, v[0], steps, !reverse);
    const Gates gates(to, row(to, v[4], step));
    const Value dh = add(to, row(to, v[8], step), v[1]);
    const Value dc = add(to, row(to, v[9], step), v[2]);
    const auto [sums, before] =
        step_gradient(to, gates, row(to, v[5], step), row(to, v[6], step), dh, dc);
    Values next = {add(to, v[0], splat_int(to, 1, v[0].type)), product(to, sums, v[7], true),
                   before, with_row(to, v[3], sums, step)};
    next.insert(next.end(), v.begin() + 4, v.end());
    return next;
  };
  const Values results = while_loop(to, initial, goes_on, turn);
  return {results[3], results[1], results[2]};
}

}  // namespace

void register_recurrent(LoweringTable& table) {
  table.add("lstm", lower_lstm);
  table.add("lstm_grad", lower_lstm_grad);
}

}  // namespace cornu::xla
