// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/passes/batch_rows.h"

#include <algorithm>
#include <utility>

namespace cornu::cpu {
namespace {

bool contains_first(const std::vector<int64_t>& axes) {
  return std::find(axes.begin(), axes.end(), 0) != axes.end();
}

// Whether a node that keeps the rows of its operands apart does so by its attributes.
bool leaves_rows(const Node& node, int64_t batch) {
  const Attributes& a = node.attributes;
  if (node.is("reshape")) return true;  // if both shapes begin with the batch
  if (node.is("transpose")) return a.get_ints("permutation").front() == 0;
  if (node.is("slice")) {
    return a.get_ints("begin").front() == 0 && a.get_ints("size").front() == batch;
  }
  if (node.is("reverse")) return !contains_first(a.get_ints("axes"));
  if (node.is("concatenate") || node.is("softmax") || node.is("log_softmax") || node.is("cumsum")) {
    return a.get_int("axis") != 0;
  }
  if (node.is("reduce_sum") || node.is("reduce_prod") || node.is("reduce_max") ||
      node.is("reduce_min")) {
    return !contains_first(a.get_ints("axes"));
  }
  return false;
}

bool needs_one_thread(const Node& node) {
  const OpTraits traits = node.traits();
  return traits.collective || traits.checks_values || traits.has_effect || traits.runs_graphs;
}

}  // namespace

BatchRows::BatchRows(const Graph& body, int64_t batch)
    : body_(body), batch_(batch), divided_(body.types.size(), false) {}

std::optional<BatchRows> BatchRows::of(const Graph& body, size_t carries) {
  if (carries == 0 || std::ranges::any_of(body.nodes, needs_one_thread)) return std::nullopt;
  const Shape& first = body.type(body.inputs[0]).shape;
  if (first.rank() == 0 || first[0] < 2) return std::nullopt;
  BatchRows rows(body, first[0]);
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

// Divides a value; returns false if it has no rows.
bool BatchRows::mark(ValueId id) {
  const Shape& shape = body_.type(id).shape;
  if (shape.rank() == 0 || shape[0] != batch_) return false;
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
  return leaves_rows(node, batch_) && mark_all(node);
}

// Operands of the result's rank have its rows, or one that all share.
bool BatchRows::divide_broadcast(const Node& node) {
  for (const ValueId out : node.outputs) {
    if (!mark(out)) return false;
    const int64_t rank = body_.type(out).shape.rank();
    for (const ValueId id : node.inputs) {
      const Shape& shape = body_.type(id).shape;
      if (shape.rank() == rank && shape[0] == batch_) {
        mark(id);
      } else if (is_divided(id)) {
        return false;
      }
    }
  }
  return true;
}

// The rows of a matrix, all by the same one; or a matrix for each row.
bool BatchRows::divide_matmul(const Node& node) {
  if (body_.type(node.outputs[0]).shape.rank() > 2) return divide_broadcast(node);
  return !node.attributes.get_bool("transpose_a") && !is_divided(node.inputs[1]) &&
         mark(node.inputs[0]) && mark(node.outputs[0]);
}

Graph BatchRows::with_rows(int64_t rows) const {
  Graph graph = body_;
  for (size_t id = 0; id < divided_.size(); ++id) {
    if (divided_[id]) graph.types[id].shape[0] = rows;
  }
  for (Node& node : graph.nodes) {
    if (!is_divided(node.outputs[0])) continue;
    for (const char* name : {"shape", "size"}) {  // of reshape, broadcast_to; of slice
      if (!node.attributes.find(name)) continue;
      std::vector<int64_t> sizes = node.attributes.get_ints(name);
      sizes.front() = rows;
      node.attributes.set(name, std::move(sizes));
    }
  }
  graph.validate();
  return graph;
}

int64_t BatchRows::multiplications() const {
  int64_t sum = 0;
  for (const Node& node : body_.nodes) {
    if (!node.is("matmul") || !is_divided(node.outputs[0])) continue;
    const Shape& a = body_.type(node.inputs[0]).shape;
    const int64_t depth = a[a.rank() - (node.attributes.get_bool("transpose_a") ? 2 : 1)];
    sum += body_.type(node.outputs[0]).shape.num_elements() * depth;
  }
  return sum;
}

}  // namespace cornu::cpu
