// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/cells.h"

#include <algorithm>
#include <utility>

#include "framework/graph/trace.h"
#include "framework/ops/loops.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/nn.h"
#include "framework/ops/shape.h"

namespace cornu::onnx {
namespace {

using TensorList = std::vector<Tensor>;
using Unary = Tensor (*)(const Tensor&);

Cell simple_rnn(const std::string& name, Unary activation) {
  return {.op = "RNN",
          .activations = {name},
          .gates = {0},
          .step = [activation](const Tensor& x, const TensorList& states, const TensorList& w) {
            return TensorList{activation(x + ops::matmul(states[0], w[0]))};
          }};
}

Cell lstm(const std::string& name, Unary activation) {
  return {.op = "LSTM",
          .activations = {"Sigmoid", name, name},
          .gates = {0, 3, 1, 2},  // input, output, forget, cell
          .states = 2,
          .step = [activation](const Tensor& x, const TensorList& states, const TensorList& w) {
            const TensorList z = ops::split(x + ops::matmul(states[0], w[0]), 4, -1);
            const Tensor c = ops::sigmoid(z[1]) * states[1] + ops::sigmoid(z[0]) * activation(z[2]);
            return TensorList{ops::sigmoid(z[3]) * activation(c), c};
          }};
}

Tensor gru_output(const Tensor& update, const Tensor& h, const Tensor& candidate) {
  return update * h + (1 - update) * candidate;
}

Cell gru(const std::string& name, Unary activation) {
  return {
      .op = "GRU",
      .activations = {"Sigmoid", name},
      .gates = {0, 1, 2},
      .kernels = 3,
      .step = [activation](const Tensor& input, const TensorList& states, const TensorList& w) {
        const Tensor& h = states[0];
        const TensorList x = ops::split(input, 3, -1);
        const Tensor update = ops::sigmoid(x[0] + ops::matmul(h, w[0]));
        const Tensor reset = ops::sigmoid(x[1] + ops::matmul(h, w[1]));
        return TensorList{gru_output(update, h, activation(x[2] + ops::matmul(reset * h, w[2])))};
      }};
}

Cell gru_reset_after(const std::string& name, Unary activation, bool biased) {
  return {.op = "GRU",
          .activations = {"Sigmoid", name},
          .gates = {0, 1, 2},
          .biased = biased,
          .reset_after = true,
          .step = [=](const Tensor& input, const TensorList& states, const TensorList& w) {
            const Tensor& h = states[0];
            const TensorList x = ops::split(input, 3, -1);
            Tensor products = ops::matmul(h, w[0]);
            if (biased) products = products + w[1];
            const TensorList y = ops::split(products, 3, -1);
            const Tensor update = ops::sigmoid(x[0] + y[0]);
            const Tensor reset = ops::sigmoid(x[1] + y[1]);
            return TensorList{gru_output(update, h, activation(x[2] + reset * y[2]))};
          }};
}

const std::vector<Cell>& cells() {
  static const auto* const all = [] {
    auto* made = new std::vector<Cell>;
    const std::pair<const char*, Unary> activations[] = {{"Tanh", ops::tanh}, {"Relu", ops::relu}};
    for (const auto& [name, activation] : activations) {
      made->push_back(simple_rnn(name, activation));
      made->push_back(lstm(name, activation));
      made->push_back(gru(name, activation));
      made->push_back(gru_reset_after(name, activation, false));
      made->push_back(gru_reset_after(name, activation, true));
    }
    return made;
  }();
  return *all;
}

// Traces the cell's own loop for steps of this type and count: a single "scan" node over the
// graph's inputs.
Graph loop_of(const Cell& cell, const TensorType& x, int64_t steps) {
  const int64_t columns = x.shape.back();
  const auto gates = static_cast<int64_t>(cell.gates.size());
  const int64_t units = columns / gates;
  std::vector<TensorType> types = {{x.dtype, Shape({steps}).concat(x.shape)}};
  types.insert(types.end(), cell.states, {x.dtype, {x.shape[0], units}});
  types.insert(types.end(), cell.kernels,
               {x.dtype, {units, columns / static_cast<int64_t>(cell.kernels)}});
  if (cell.biased) types.push_back({x.dtype, {columns}});
  const auto loop = [&](const TensorList& inputs) {
    const auto begin = inputs.begin() + 1;
    const auto end = begin + static_cast<int64_t>(cell.states);
    const TensorList weights(end, inputs.end());
    const auto step = [&](const TensorList& states, const TensorList& slices) {
      TensorList next = cell.step(slices[0], states, weights);
      return std::pair(next, TensorList{next[0]});
    };
    auto [last, ys] = ops::scan(step, TensorList(begin, end), {inputs[0]});
    last.push_back(ys[0]);
    return last;
  };
  return trace(types, loop,
               {.name = cell.op, .allow_state = false, .own_key = false, .capture_values = false})
      .graph;
}

// Finds the values of a graph that compute the same as those of a pattern.
class Matcher {
 public:
  Matcher(const Graph& pattern, const Graph& graph)
      : pattern_(pattern),
        graph_(graph),
        pattern_makers_(pattern.producers()),
        makers_(graph.producers()),
        bound_(pattern.types.size(), kNoValue) {}

  // Binds the pattern's value, and everything it is computed from, if `id` is computed in the same
  // way.
  bool bind(ValueId of_pattern, ValueId id) {
    const ValueId known = bound(of_pattern);
    if (known != kNoValue) return known == id;
    if (pattern_.type(of_pattern) != graph_.type(id)) return false;
    const int32_t wanted = pattern_makers_[static_cast<size_t>(of_pattern)];
    const int32_t maker = makers_[static_cast<size_t>(id)];
    if (wanted >= 0) {
      if (maker < 0) return false;
      const Node& a = pattern_.nodes[static_cast<size_t>(wanted)];
      const Node& b = graph_.nodes[static_cast<size_t>(maker)];
      if (!bind_nodes(a, of_pattern, b, id)) return false;
    }
    bound_[static_cast<size_t>(of_pattern)] = id;
    return true;
  }

  ValueId bound(ValueId of_pattern) const { return bound_[static_cast<size_t>(of_pattern)]; }

 private:
  static size_t place(const std::vector<ValueId>& ids, ValueId id) {
    return static_cast<size_t>(std::ranges::find(ids, id) - ids.begin());
  }

  bool bind_nodes(const Node& a, ValueId of_a, const Node& b, ValueId of_b) {
    const bool alike = a.op == b.op && a.inputs.size() == b.inputs.size() &&
                       place(a.outputs, of_a) == place(b.outputs, of_b) &&
                       a.attributes == b.attributes;
    if (!alike) return false;
    const std::vector<ValueId> before = bound_;
    if (bind_all(a.inputs, b.inputs)) return true;
    bound_ = before;
    if (!a.op->traits.commutative) return false;
    if (bind_all(a.inputs, {b.inputs.rbegin(), b.inputs.rend()})) return true;
    bound_ = before;
    return false;
  }

  bool bind_all(const std::vector<ValueId>& of_pattern, const std::vector<ValueId>& ids) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!bind(of_pattern[i], ids[i])) return false;
    }
    return true;
  }

  const Graph& pattern_;
  const Graph& graph_;
  std::vector<int32_t> pattern_makers_;
  std::vector<int32_t> makers_;
  std::vector<ValueId> bound_;  // by value of the pattern
};

// A scan over a single tensor, and the meaning of its body's inputs.
class Loop {
 public:
  explicit Loop(const Node& scan)
      : scan_(scan),
        body_(scan.attributes.get_graph("body")),
        carries_(static_cast<size_t>(scan.attributes.get_int("carries"))) {}

  // Rules out loops that can't be a cell, whatever their bodies.
  static bool may_be_cell(const Node& scan) {
    const Attributes& attributes = scan.attributes;
    if (attributes.get_int("xs") != 1 || attributes.get_bool("counted")) return false;
    if (attributes.get_int("length") < 1) return false;
    const Loop loop(scan);
    const TensorType& x = loop.x_type();
    return x.dtype == DType::Float32 && x.shape.rank() == 2;
  }

  const Graph& body() const { return body_; }
  const Node& node() const { return scan_; }
  size_t carries() const { return carries_; }
  const TensorType& x_type() const { return body_.type(body_.inputs[carries_]); }
  // The index of the body input that is this value; the number of inputs if it is none.
  size_t input(ValueId id) const {
    return static_cast<size_t>(std::ranges::find(body_.inputs, id) - body_.inputs.begin());
  }

 private:
  const Node& scan_;
  const Graph& body_;
  size_t carries_;
};

// Maps the loop's values to those of the cell, once the matcher has bound the first state.
std::optional<CellLoop> roles(const Loop& loop, const Cell& cell, const Graph& whole,
                              const Node& scan, const Matcher& matcher) {
  const Loop pattern(scan);
  const std::vector<ValueId>& outputs = loop.body().outputs;
  CellLoop found{.cell = &cell, .units = pattern.body().type(pattern.body().inputs[0]).shape[1]};
  std::vector<ValueId> next;
  for (size_t state = 0; state < cell.states; ++state) {
    next.push_back(matcher.bound(pattern.body().outputs[state]));
    const size_t carry = loop.input(matcher.bound(pattern.body().inputs[state]));
    if (carry >= loop.carries() || outputs[carry] != next.back()) return std::nullopt;
    found.states.push_back(carry);
  }
  if (loop.input(matcher.bound(pattern.body().inputs[cell.states])) != loop.carries()) {
    return std::nullopt;
  }
  for (size_t i = cell.states + 1; i < whole.inputs.size(); ++i) {
    // The index of this weight among the inputs of the pattern's body.
    const auto place = std::ranges::find(scan.inputs, whole.inputs[i]) - scan.inputs.begin();
    CORNU_ASSERT(static_cast<size_t>(place), <, scan.inputs.size());
    const ValueId id = pattern.body().inputs[static_cast<size_t>(place)];
    const size_t weight = loop.input(matcher.bound(id));
    if (weight <= loop.carries() || weight >= loop.body().inputs.size()) return std::nullopt;
    found.weights.push_back(weight);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto state = static_cast<size_t>(std::ranges::find(next, outputs[i]) - next.begin());
    const bool stacked = i >= loop.carries();
    if (state == next.size() || (stacked && state != 0)) return std::nullopt;
    found.outputs.push_back(state);
  }
  return found;
}

}  // namespace

std::optional<CellLoop> cell_loop(const Node& scan,
                                  const std::function<Graph(const Graph&)>& clean) {
  if (!Loop::may_be_cell(scan)) return std::nullopt;
  const Loop loop(scan);
  const TensorType& x = loop.x_type();
  for (const Cell& cell : cells()) {
    const auto gates = static_cast<int64_t>(cell.gates.size());
    if (x.shape[1] == 0 || x.shape[1] % gates != 0 || loop.carries() < cell.states) continue;
    const Graph whole = clean(loop_of(cell, x, scan.attributes.get_int("length")));
    const auto own = std::ranges::find_if(whole.nodes, [](const Node& n) { return n.is("scan"); });
    if (own == whole.nodes.end()) continue;
    const Graph& pattern = own->attributes.get_graph("body");
    for (const ValueId next : loop.body().outputs) {
      Matcher matcher(pattern, loop.body());
      if (!matcher.bind(pattern.outputs[0], next)) continue;
      if (auto found = roles(loop, cell, whole, *own, matcher)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace cornu::onnx
