// SPDX-License-Identifier: Apache-2.0
// Reads LSTM, GRU and RNN as Keras layers, one per direction.
#include <algorithm>

#include "framework/core/strings.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

struct Recurrence {
  const char* class_name;
  Ints gates;                            // ONNX's gates in Keras's order
  std::vector<std::string> activations;  // ONNX's defaults
  size_t states;
};

// The names of Keras's activations for one direction.
std::vector<std::string> activations_of(NodeReader& n, const Recurrence& kind, size_t direction) {
  const size_t count = kind.activations.size();
  const std::vector<std::string> given = n.texts("activations");
  const bool fits =
      given.empty() || (given.size() % count == 0 && given.size() >= (direction + 1) * count);
  check<InvalidArgument>(fits, "expected {} activations for each direction, got {}.", count,
                         given.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const std::string name =
        lower_case(given.empty() ? kind.activations[i] : given[direction * count + i]);
    const bool known = name == "sigmoid" || name == "tanh" || name == "relu" ||
                       name == "softsign" || name == "softplus";
    if (!known) n.refuse(fmt::format("its activation '{}' is none of Keras's", printable(name)));
    names.push_back(name);
  }
  return names;
}

void refuse_variants(NodeReader& n) {
  n.refuse_constants();
  if (n.has("clip")) n.refuse("it clips what its activations are given");
  if (n.integer("layout", 0) != 0) n.refuse("its batch comes first (layout is 1)");
  if (n.integer("input_forget", 0) != 0) n.refuse("its input and forget gates are one");
  if (n.op() == "LSTM" && n.has(7)) n.refuse("it has peepholes");
  if (!n.has(4)) return;
  const Size length = n.shape()[0];
  const bool whole =
      n.is_constant(4) && length.fixed() &&
      std::ranges::all_of(n.integers(4), [&](int64_t given) { return given == length.value(); });
  if (!whole) n.refuse("its sequences have lengths of their own (sequence_lens)");
}

// One direction's part of weights or states, without the direction axis.
Tensor of_direction(const Tensor& x, int64_t direction, int64_t directions) {
  const Tensor part = directions == 1 ? x : ops::slice_axis(x, 0, direction, direction + 1);
  return ops::squeeze(part, 0);
}

// Converts (gates * units, …) to Keras's layout and gate order: (…, gates * units).
Tensor gates_in_order(const Tensor& weights, const Recurrence& kind, int64_t units) {
  std::vector<Tensor> parts;
  for (const int64_t gate : kind.gates) {
    parts.push_back(ops::slice_axis(weights, 0, gate * units, (gate + 1) * units));
  }
  return ops::transpose(ops::concatenate(parts, 0));
}

NamedWeights weights_of_direction(NodeReader& n, const Recurrence& kind, int64_t units,
                                  int64_t direction, int64_t directions, bool reset_after) {
  const auto rows = static_cast<int64_t>(kind.gates.size()) * units;
  const Tensor w = n.constant(1), r = n.constant(2);
  const bool fits = w.rank() == 3 && r.rank() == 3 && w.dim(0) == directions &&
                    r.dim(0) == directions && w.dim(1) == rows && r.dim(1) == rows &&
                    r.dim(2) == units;
  check<InvalidArgument>(fits, "expected weights of {} directions and {} rows, got {} and {}.",
                         directions, rows, w.shape(), r.shape());
  NamedWeights weights = {
      {"kernel", gates_in_order(of_direction(w, direction, directions), kind, units)},
      {"recurrent_kernel", gates_in_order(of_direction(r, direction, directions), kind, units)}};
  if (!n.has(3)) return weights;
  const Tensor b = n.constant(3);
  check<InvalidArgument>(b.shape() == Shape({directions, 2 * rows}),
                         "expected a bias of shape ({}, {}), got {}.", directions, 2 * rows,
                         b.shape());
  const Tensor both = of_direction(b, direction, directions);
  const Tensor of_input = gates_in_order(ops::slice_axis(both, 0, 0, rows), kind, units);
  const Tensor of_state = gates_in_order(ops::slice_axis(both, 0, rows, 2 * rows), kind, units);
  weights.emplace_back(
      "bias", reset_after ? ops::stack({of_input, of_state}) : ops::add(of_input, of_state));
  return weights;
}

// Zero states count as none.
bool has_state(NodeReader& n, size_t place) {
  if (!n.has(place)) return false;
  if (!n.is_known(place)) return true;
  const ReadValue& value = *n.model().find(n.node().inputs[place]);
  for (const Tensor& known : value.known) {
    if (ops::any(ops::not_equal(known, 0)).item<bool>()) return true;
  }
  return false;
}

Json recurrent_config(NodeReader& n, const Recurrence& kind, int64_t units, size_t direction) {
  const std::vector<std::string> names = activations_of(n, kind, direction);
  Json config = Json::object({{"units", units},
                              {"activation", names.back()},
                              {"use_bias", n.has(3)},
                              {"return_sequences", n.wants(0)},
                              {"return_state", n.wants(1) || n.wants(2)}});
  if (names.size() > 1) config.set("recurrent_activation", names[0]);
  if (names.size() > 2 && names[1] != names[2]) {
    n.refuse("its cell and its output have different activations");
  }
  return config;
}

// {y (batch, steps, units) or undefined, states (batch, units)…} for one direction.
std::vector<Tensor> one_direction(NodeReader& n, const Recurrence& kind, const Tensor& x,
                                  size_t direction, size_t directions, bool backwards) {
  const int64_t units = n.integer("hidden_size", n.constant(2).shape().back());
  check<InvalidArgument>(units > 0, "expected a hidden_size above 0, got {}.", units);
  const bool gru = kind.class_name == std::string_view("GRU");
  const bool reset_after = gru && n.integer("linear_before_reset", 0) != 0;
  Json config = recurrent_config(n, kind, units, direction);
  config.set("go_backwards", backwards);
  if (gru) config.set("reset_after", reset_after);
  if (kind.states == 2) config.set("unit_forget_bias", false);
  const auto at = static_cast<int64_t>(direction), all = static_cast<int64_t>(directions);
  std::vector<Tensor> inputs = {x};
  bool begins = false;
  for (size_t i = 0; i < kind.states; ++i) begins = begins || has_state(n, 5 + i);
  for (size_t i = 0; begins && i < kind.states; ++i) {
    const size_t other = n.has(5) ? 5 : 6;
    const Tensor state = n.in(n.has(5 + i) ? 5 + i : other);
    const Tensor part = of_direction(state, at, all);
    inputs.push_back(n.has(5 + i) ? part : ops::zeros_like(part));
  }
  const char* part = directions == 1 ? "" : backwards ? "backward" : "forward";
  const Tensors made = n.layer(kind.class_name, std::move(config), Tensors(std::move(inputs)),
                               weights_of_direction(n, kind, units, at, all, reset_after), part);
  std::vector<Tensor> results = made.list();
  if (results.size() == 1 + kind.states && !n.wants(0)) results[0] = Tensor();
  if (backwards && n.wants(0)) results[0] = ops::flip(results[0], 1);
  return results;
}

// Inserts an axis of size 1.
Tensor with_axis(NodeReader& n, const Tensor& x, int64_t axis) {
  Sizes shape = is_placeholder(x) ? n.model().shapes().of(x) : Sizes();
  if (shape.empty()) return ops::expand_dims(x, axis);
  shape.insert(shape.begin() + axis, Size(1));
  return n.reshaped(x, shape);
}

void read_recurrence(NodeReader& n, const Recurrence& kind) {
  refuse_variants(n);
  const Tensor given = n.in(0);
  check<InvalidArgument>(given.rank() == 3 && is_floating(given.dtype()),
                         "expected an input of floats (steps, batch, features), got {} {}.",
                         given.dtype(), given.shape());
  const std::string direction = n.choice("direction", {"forward", "reverse", "bidirectional"});
  const bool both = direction == "bidirectional";
  const Tensor x = ops::transpose(given, {1, 0, 2});
  const size_t directions = both ? 2 : 1;
  std::vector<std::vector<Tensor>> made(1 + kind.states);  // by output
  for (size_t i = 0; i < directions; ++i) {
    const bool backwards = i == 1 || direction == "reverse";
    const std::vector<Tensor> results = one_direction(n, kind, x, i, directions, backwards);
    for (size_t output = 0; output < results.size(); ++output) {
      if (!results[output].defined()) continue;
      const Tensor result = output == 0 ? ops::transpose(results[0], {1, 0, 2}) : results[output];
      made[output].push_back(with_axis(n, result, output == 0 ? 1 : 0));
    }
  }
  std::vector<Tensor> outputs;
  for (size_t output = 0; output < made.size(); ++output) {
    const bool some = n.wants(output) && !made[output].empty();
    outputs.push_back(some ? ops::concatenate(made[output], output == 0 ? 1 : 0) : Tensor());
  }
  n.give_all(outputs);
}

void read_lstm(NodeReader& n) {
  read_recurrence(n, {"LSTM", {0, 2, 3, 1}, {"Sigmoid", "Tanh", "Tanh"}, 2});
}
void read_gru(NodeReader& n) { read_recurrence(n, {"GRU", {0, 1, 2}, {"Sigmoid", "Tanh"}, 1}); }
void read_rnn(NodeReader& n) { read_recurrence(n, {"SimpleRNN", {0}, {"Tanh"}, 1}); }

const Rule kRulesOfRecurrence[] = {
    {"GRU", read_gru},
    {"LSTM", read_lstm},
    {"RNN", read_rnn},
};

}  // namespace

std::span<const Rule> recurrent_rules() { return kRulesOfRecurrence; }

}  // namespace cornu::onnx::reading
