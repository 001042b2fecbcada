// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/recurrences.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/strings.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/passes/rewriter.h"
#include "framework/saving/onnx/cells.h"

namespace cornu::onnx {
namespace {

using TensorList = std::vector<Tensor>;

bool is_scan(const Node& node) { return node.is("scan"); }

// ---- the last step ----

// Whether `slice` extracts the step that ran last from a stacked output of a scan.
bool is_last_step(const Node& slice, const Shape& stacked, bool reverse) {
  const std::vector<int64_t>& begin = slice.attributes.get_ints("begin");
  const std::vector<int64_t>& size = slice.attributes.get_ints("size");
  if (begin[0] != (reverse ? 0 : stacked[0] - 1)) return false;
  for (int64_t axis = 1; axis < stacked.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (begin[i] != 0 || (size[i] != kUnknown && size[i] != stacked[axis])) return false;
  }
  return size[0] == 1 || (size[0] == kUnknown && !reverse);
}

// Replaces reads of only the last step of a stacked output by the loop's carry, if it is the same
// value.
void read_carries(passes::Rewriter& graph, int index) {
  const Node& scan = graph.node(index);
  const auto carries = static_cast<size_t>(scan.attributes.get_int("carries"));
  const std::vector<ValueId>& outputs = scan.attributes.get_graph("body").outputs;
  const bool runs = scan.attributes.get_int("length") >= 1 && !scan.attributes.get_bool("counted");
  for (size_t i = carries; runs && i < outputs.size(); ++i) {
    const auto end = outputs.begin() + static_cast<int64_t>(carries);
    const auto carry = std::find(outputs.begin(), end, outputs[i]) - outputs.begin();
    if (carry == static_cast<int64_t>(carries)) continue;
    for (const int reader : graph.readers(scan.outputs[i])) {
      const Node& slice = graph.node(reader);
      const bool last = slice.is("slice") && is_last_step(slice, graph.shape(scan.outputs[i]),
                                                          scan.attributes.get_bool("reverse"));
      if (!last) continue;
      const ValueId before = slice.outputs[0];
      const ValueId now = graph.insert(reader, OpRegistry::global().at("reshape"),
                                       {scan.outputs[static_cast<size_t>(carry)]},
                                       {{"shape", graph.shape(before).dims()}})[0];
      graph.replace(before, now);
      graph.remove(reader);
    }
  }
}

// ---- the input of a loop ----

// input * kernel + biases, with the leading axes rearranged afterwards.
struct Projection {
  ValueId input = kNoValue;
  Tensor kernel = {};                   // (features, columns)
  TensorList biases = {};               // of `columns` elements each
  std::vector<const Node*> moves = {};  // reshapes and transposes, last one first
};

class Recurrences {
 public:
  Recurrences(const Graph& graph, NamedConstants& constants,
              const std::function<Graph(const Graph&)>& clean)
      : graph_(graph), constants_(constants), clean_(clean) {}

  Graph run() {
    for (const int index : graph_.order()) {
      if (is_scan(graph_.node(index))) read_carries(graph_, index);
    }
    graph_ = passes::Rewriter(passes::prune_loops(graph_.finish()));
    for (const int index : graph_.order()) {
      if (is_scan(graph_.node(index))) rewrite(index);
    }
    return graph_.finish();
  }

 private:
  static const OpDef& op(std::string_view name) { return OpRegistry::global().at(name); }

  // ---- constants ----

  Tensor derived(std::string_view name, const TensorList& inputs, const Attributes& attributes) {
    return constants_.derived(op(name), inputs, attributes);
  }
  Tensor reshaped(const Tensor& x, const std::vector<int64_t>& shape) {
    return derived("reshape", {x}, {{"shape", shape}});
  }
  Tensor transposed(const Tensor& x) {
    return derived("transpose", {x}, {{"permutation", std::vector<int64_t>{1, 0}}});
  }

  // The value of an expression of constants; undefined for anything else.
  Tensor constant(ValueId id) {
    const Node* node = graph_.producer(id);
    if (!node) return {};
    if (node->is("constant")) return node->attributes.get_tensor("value");
    if (node->inputs.empty() || node->outputs.size() != 1 || passes::must_run(*node)) return {};
    TensorList inputs;
    for (const ValueId input : node->inputs) {
      inputs.push_back(constant(input));
      if (!inputs.back().defined()) return {};
    }
    return constants_.derived(*node->op, inputs, node->attributes);
  }

  bool is_zero(ValueId id) const {
    const Node* node = graph_.producer(id);
    if (!node) return false;
    if (node->is("broadcast_to") || node->is("reshape")) return is_zero(node->inputs[0]);
    if (!node->is("constant")) return false;
    const Tensor& value = node->attributes.get_tensor("value");
    const std::byte* bytes = value.raw();
    return std::all_of(bytes, bytes + value.bytes(), [](std::byte b) { return b == std::byte{}; });
  }

  // ---- the input ----

  // The constant that an addition adds to each row of its other operand.
  Tensor row_added(const Node& add, size_t operand) {
    const Shape& rows = graph_.shape(add.outputs[0]);
    const Shape& shape = graph_.shape(add.inputs[operand]);
    if (rows.rank() == 0 || graph_.shape(add.inputs[1 - operand]) != rows) return {};
    if (shape.rank() == 0 || shape.back() != rows.back()) return {};
    return shape.num_elements() == rows.back() ? constant(add.inputs[operand]) : Tensor();
  }

  // Whether the node preserves the last axis.
  bool keeps_rows(const Node& node) const {
    if (node.is("transpose")) {
      const std::vector<int64_t>& order = node.attributes.get_ints("permutation");
      return !order.empty() && order.back() + 1 == static_cast<int64_t>(order.size());
    }
    if (!node.is("reshape")) return false;
    const Shape& from = graph_.shape(node.inputs[0]);
    const Shape& to = graph_.shape(node.outputs[0]);
    return from.rank() > 0 && to.rank() > 0 && from.back() == to.back();
  }

  std::optional<Projection> projection_of(ValueId id) {
    Projection found;
    while (const Node* node = graph_.producer(id)) {
      if (node->is("matmul")) return of_product(std::move(found), *node);
      id = node->inputs.empty() ? kNoValue : node->inputs[0];
      if (node->is("add")) {
        size_t bias = 1;
        Tensor value = row_added(*node, bias);
        if (!value.defined()) value = row_added(*node, bias = 0);
        if (!value.defined()) return std::nullopt;
        found.biases.push_back(value);
        id = node->inputs[1 - bias];
      } else if (keeps_rows(*node)) {
        found.moves.push_back(node);
      } else {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  std::optional<Projection> of_product(Projection found, const Node& matmul) {
    const bool plain =
        !matmul.attributes.get_bool("transpose_a") && graph_.shape(matmul.inputs[1]).rank() == 2;
    if (!plain) return std::nullopt;
    found.input = matmul.inputs[0];
    found.kernel = constant(matmul.inputs[1]);
    if (!found.kernel.defined()) return std::nullopt;
    if (matmul.attributes.get_bool("transpose_b")) found.kernel = transposed(found.kernel);
    return found;
  }

  // The input of the product, rearranged as the product was.
  ValueId moved_input(int place, const Projection& projection) {
    ValueId id = projection.input;
    for (auto move = projection.moves.rbegin(); move != projection.moves.rend(); ++move) {
      Attributes attributes = (*move)->attributes;
      if ((*move)->is("reshape")) {
        Shape shape = graph_.shape((*move)->outputs[0]);
        shape[shape.rank() - 1] = projection.kernel.dim(0);
        attributes = {{"shape", shape.dims()}};
      }
      id = graph_.insert(place, *(*move)->op, {id}, std::move(attributes))[0];
    }
    return id;
  }

  // ---- the node ----

  // Reorders a tensor's columns into the order of ONNX's gates.
  Tensor in_order(const Tensor& x, const Cell& cell) {
    if (std::ranges::is_sorted(cell.gates)) return x;
    const auto last = static_cast<size_t>(x.rank() - 1);
    std::vector<int64_t> begin(x.shape().dims().size(), 0);
    std::vector<int64_t> size = x.shape().dims();
    size[last] /= static_cast<int64_t>(cell.gates.size());
    TensorList parts;
    for (const int64_t gate : cell.gates) {
      begin[last] = gate * size[last];
      parts.push_back(derived(
          "slice", {x},
          {{"begin", begin}, {"size", size}, {"strides", std::vector<int64_t>(begin.size(), 1)}}));
    }
    return derived("concatenate", parts, {{"axis", static_cast<int64_t>(last)}});
  }

  // Converts (rows, gates * units) to (1, gates * units, rows).
  Tensor operand(const Tensor& kernel, const Cell& cell) {
    return reshaped(transposed(in_order(kernel, cell)), {1, kernel.dim(1), kernel.dim(0)});
  }

  // The biases of the input's products, then those of the state's; undefined if there are none.
  Tensor biases(const Cell& cell, TensorList of_input, const TensorList& weights) {
    if (of_input.empty() && !cell.biased) return {};
    const int64_t columns = weights[0].dim(1) * static_cast<int64_t>(cell.kernels);
    const Tensor none = Tensor::from(std::vector<float>(static_cast<size_t>(columns)), {columns});
    for (Tensor& bias : of_input) bias = reshaped(bias, {columns});
    Tensor first = of_input.empty() ? none : of_input[0];
    for (size_t i = 1; i < of_input.size(); ++i) first = derived("add", {first, of_input[i]}, {});
    const Tensor second = cell.biased ? weights.back() : none;
    const Tensor all = derived("concatenate", {in_order(first, cell), in_order(second, cell)},
                               {{"axis", int64_t{0}}});
    return reshaped(all, {1, 2 * columns});
  }

  ValueId constant_node(int place, const Tensor& value) {
    return graph_.insert(place, op("constant"), {}, {{"value", value}})[0];
  }

  void rewrite(int index) {
    const Node& scan = graph_.node(index);
    const auto loop = cell_loop(scan, clean_);
    if (!loop) return;
    const Cell& cell = *loop->cell;
    const auto carries = static_cast<size_t>(scan.attributes.get_int("carries"));
    const auto projection = projection_of(scan.inputs[carries]);
    if (!projection) return;
    TensorList weights;
    for (const size_t input : loop->weights) {
      weights.push_back(constant(scan.inputs[input]));
      if (!weights.back().defined()) return;
    }
    const TensorList kernels(weights.begin(), weights.begin() + static_cast<int64_t>(cell.kernels));
    const Tensor kernel =
        kernels.size() == 1 ? kernels[0] : derived("concatenate", kernels, {{"axis", int64_t{1}}});
    const Tensor bias = biases(cell, projection->biases, weights);
    std::vector<ValueId> operands = {moved_input(index, *projection),
                                     constant_node(index, operand(projection->kernel, cell)),
                                     constant_node(index, operand(kernel, cell))};
    if (bias.defined()) operands.push_back(constant_node(index, bias));
    const bool begins = !std::ranges::all_of(
        loop->states, [&](size_t state) { return is_zero(scan.inputs[state]); });
    for (size_t i = 0; begins && i < cell.states; ++i) {
      const ValueId state = scan.inputs[loop->states[i]];
      const std::vector<int64_t> shape = Shape({1}).concat(graph_.shape(state)).dims();
      operands.push_back(graph_.insert(index, op("reshape"), {state}, {{"shape", shape}})[0]);
    }
    const std::vector<ValueId> made =
        graph_.insert(index, recurrence_op(), std::move(operands),
                      {{"activations", join(cell.activations, " ")},
                       {"begins", begins},
                       {"biased", bias.defined()},
                       {"operator", cell.op},
                       {"reset_after", cell.reset_after},
                       {"reverse", scan.attributes.get_bool("reverse")},
                       {"units", loop->units}});
    for (size_t i = 0; i < scan.outputs.size(); ++i) {
      const ValueId before = scan.outputs[i];
      const ValueId source = i < carries ? made[1 + loop->outputs[i]] : made[0];
      graph_.replace(before, graph_.insert(index, op("reshape"), {source},
                                           {{"shape", graph_.shape(before).dims()}})[0]);
    }
    graph_.remove(index);
  }

  passes::Rewriter graph_;
  NamedConstants& constants_;
  const std::function<Graph(const Graph&)>& clean_;
};

// (time, batch, features), (1, gates * units, features), (1, gates * units, units), … -> all states
// (time, 1, batch, units), and the last ones (1, batch, units).
std::vector<TensorType> infer_recurrence(std::span<const TensorType> inputs,
                                         const Attributes& attributes) {
  const TensorType& x = inputs[0];
  const int64_t units = attributes.get_int("units");
  const TensorType last = {x.dtype, {1, x.shape[1], units}};
  const bool lstm = attributes.get_string("operator") == "LSTM";
  std::vector<TensorType> types(lstm ? 3 : 2, last);
  types[0].shape = Shape({x.shape[0]}).concat(last.shape);
  return types;
}

}  // namespace

Graph with_recurrences(const Graph& graph, NamedConstants& constants,
                       const std::function<Graph(const Graph&)>& clean) {
  if (std::ranges::none_of(graph.nodes, is_scan)) return graph;
  return Recurrences(graph, constants, clean).run();
}

const OpDef& recurrence_op() {
  static const OpDef op = {
      .name = "recurrence", .infer = infer_recurrence, .vjp = {}, .traits = {}};
  return op;
}

}  // namespace cornu::onnx
