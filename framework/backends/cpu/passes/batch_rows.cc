// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/passes/batch_rows.h"

#include <algorithm>
#include <utility>

#include "framework/backends/cpu/kernels/reduction/reduction.h"
#include "framework/graph/program_facts.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kNone = -1;

// The first axis whose size isn't 1.
int64_t first_axis(const Shape& shape) {
  const auto at = std::find_if(shape.begin(), shape.end(), [](int64_t size) { return size != 1; });
  return at == shape.end() ? kNone : at - shape.begin();
}

bool needs_one_thread(const Node& node) {
  const OpTraits traits = node.traits();
  return traits.collective || traits.checks_values || traits.has_effect || traits.runs_graphs;
}

}  // namespace

BatchRows::BatchRows(const Graph& body, int64_t batch)
    : body_(body), batch_(batch), divided_(body.types.size(), false) {}

std::optional<BatchRows> BatchRows::of(const Graph& body, size_t carries) {
  if (std::ranges::any_of(body.nodes, needs_one_thread)) return std::nullopt;
  const Shape& shape = body.type(carries > 0 ? body.inputs[0] : body.outputs[0]).shape;
  const int64_t axis = first_axis(shape);
  if (axis == kNone || shape[axis] < 2) return std::nullopt;
  BatchRows rows(body, shape[axis]);
  for (size_t i = 0; i < carries; ++i) {
    if (!rows.mark(body.inputs[i])) return std::nullopt;
  }
  for (const ValueId id : body.outputs) {
    if (!rows.mark(id)) return std::nullopt;
  }
  while (std::exchange(rows.changed_, false)) {
    for (const Node& node : body.nodes) {
      if (!rows.divide(node)) return std::nullopt;
    }
  }
  return rows;
}

// The axis of a value's rows; kNone if it has none.
int64_t BatchRows::row_axis(ValueId id) const {
  const Shape& shape = body_.type(id).shape;
  const int64_t axis = first_axis(shape);
  return axis != kNone && shape[axis] == batch_ ? axis : kNone;
}

// Divides a value; returns false if it has no rows.
bool BatchRows::mark(ValueId id) {
  if (row_axis(id) == kNone) return false;
  changed_ |= !is_divided(id);
  divided_[static_cast<size_t>(id)] = true;
  return true;
}

bool BatchRows::mark_all(const Node& node) {
  const auto marked = [&](ValueId id) { return mark(id); };
  return std::ranges::all_of(node.inputs, marked) && std::ranges::all_of(node.outputs, marked);
}

// Divides the operands and results of a node if one of them is. Returns false if its rows depend on
// each other.
bool BatchRows::divide(const Node& node) {
  const auto divided = [&](ValueId id) { return is_divided(id); };
  if (std::ranges::none_of(node.inputs, divided) && std::ranges::none_of(node.outputs, divided)) {
    return true;
  }
  if (node.is("matmul")) return divide_matmul(node);
  if (node.op->traits.elementwise || node.is("broadcast_to")) return divide_broadcast(node);
  return !node.inputs.empty() && mark_all(node) && leaves_rows(node);
}

// Operands have the result's rows, or something that all rows share.
bool BatchRows::divide_broadcast(const Node& node) {
  const ValueId out = node.outputs[0];
  if (!mark(out)) return false;
  for (const ValueId id : node.inputs) {
    const Shape& shape = body_.type(id).shape;
    const int64_t axis = row_axis(out) - (body_.type(out).shape.rank() - shape.rank());
    if (axis >= 0 && shape[axis] == batch_) {
      mark(id);
    } else if (is_divided(id)) {
      return false;
    }
  }
  return true;
}

// A matrix for each row; or a matrix with the rows, all by the same one.
bool BatchRows::divide_matmul(const Node& node) {
  const ValueId a = node.inputs[0], out = node.outputs[0];
  const int64_t rank = body_.type(out).shape.rank();
  if (row_axis(out) < rank - 2) return divide_broadcast(node);
  return row_axis(out) == rank - 2 && !node.attributes.get_bool("transpose_a") && mark(a) &&
         row_axis(a) == body_.type(a).shape.rank() - 2 && mark(out) && !is_divided(node.inputs[1]);
}

// Whether a node with one operand and result, or several operands like it, keeps rows apart.
bool BatchRows::leaves_rows(const Node& node) const {
  const Attributes& a = node.attributes;
  const int64_t axis = row_axis(node.inputs[0]);
  const auto not_among = [&](const std::vector<int64_t>& axes) {
    return std::find(axes.begin(), axes.end(), axis) == axes.end();
  };
  const auto at = [](const std::vector<int64_t>& values, int64_t index) {
    return values[static_cast<size_t>(index)];
  };
  if (node.is("reshape")) return true;
  if (node.is("transpose")) {
    return at(a.get_ints("permutation"), row_axis(node.outputs[0])) == axis;
  }
  if (reduction_of(node.op->name)) return not_among(a.get_ints("axes"));
  if (row_axis(node.outputs[0]) != axis) return false;
  if (node.is("slice")) {
    return at(a.get_ints("begin"), axis) == 0 && at(a.get_ints("size"), axis) == batch_;
  }
  if (node.is("reverse")) return not_among(a.get_ints("axes"));
  if (node.is("concatenate") || node.is("softmax") || node.is("log_softmax") || node.is("cumsum")) {
    return a.get_int("axis") != axis;
  }
  return false;
}

Graph BatchRows::with_rows(int64_t rows) const {
  Graph graph = body_;
  for (size_t id = 0; id < divided_.size(); ++id) {
    if (divided_[id]) graph.types[id].shape[row_axis(static_cast<ValueId>(id))] = rows;
  }
  for (Node& node : graph.nodes) {
    if (!is_divided(node.outputs[0])) continue;
    for (const char* name : {"shape", "size"}) {  // of reshape, broadcast_to; of slice
      if (!node.attributes.find(name)) continue;
      std::vector<int64_t> sizes = node.attributes.get_ints(name);
      sizes[static_cast<size_t>(row_axis(node.outputs[0]))] = rows;
      node.attributes.set(name, std::move(sizes));
    }
  }
  graph.validate();
  return graph;
}

size_t BatchRows::undivided_bytes() const {
  size_t bytes = 0;
  for (const ValueId id : body_.inputs) {
    if (!is_divided(id)) bytes += body_.type(id).bytes();
  }
  return bytes;
}

int64_t BatchRows::work() const {
  constexpr double kFlops = 32;  // of a product, as fast as computing one element
  int64_t sum = 0;
  for (const Node& node : body_.nodes) {
    if (!is_divided(node.outputs[0])) continue;
    sum += body_.type(node.outputs[0]).shape.num_elements() +
           static_cast<int64_t>(flops_of(body_, node) / kFlops);
  }
  return sum;
}

}  // namespace cornu::cpu
