// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/rowwise.h"

#include <algorithm>
#include <utility>

namespace cornu::passes {

std::set<ValueId> made_of(const Rewriter& graph, std::vector<ValueId> values,
                          const std::set<int>& without) {
  std::set<ValueId> made;
  while (!values.empty()) {
    const ValueId id = values.back();
    values.pop_back();
    if (!made.insert(id).second) continue;
    for (const int reader : graph.readers(id)) {
      if (without.contains(reader)) continue;
      const std::vector<ValueId>& outputs = graph.node(reader).outputs;
      values.insert(values.end(), outputs.begin(), outputs.end());
    }
  }
  return made;
}

RowwiseUpdates::RowwiseUpdates(const Rewriter& graph, const std::vector<StateBinding>& states)
    : graph_(graph) {
  for (const StateBinding& state : states) ends_[state.in] = state.out;
}

// The result of `node` for a row that nothing was added to, given in `rows` the results of its
// operands that depend on the sums.
RowwiseUpdates::UntouchedRow RowwiseUpdates::untouched(const Node& node, const Rows& rows) const {
  const auto of = [&](size_t operand) -> UntouchedRow {
    const ValueId id = node.inputs[operand];
    const auto found = rows.find(id);
    if (found != rows.end()) return found->second;
    const bool variable = !graph_.producer(id) && graph_.type(id) == graph_.type(node.outputs[0]);
    return variable ? UntouchedRow{Kind::Same, id} : UntouchedRow{};
  };
  const auto zero = [&](size_t operand) { return of(operand).kind == Kind::Zero; };
  const UntouchedRow none = {Kind::Zero, kNoValue};
  if (node.is("multiply")) return zero(0) || zero(1) ? none : UntouchedRow{};
  if (node.is("divide")) return zero(0) && !zero(1) ? none : UntouchedRow{};
  if (node.is("add") && zero(0)) return of(1);
  if ((node.is("add") || node.is("subtract")) && zero(1)) return of(0);
  for (const char* op : {"negate", "square", "abs", "sqrt", "sign", "cast"}) {
    if (node.is(op) && zero(0)) return none;
  }
  return {};
}

// The elementwise nodes over the table that depend on `sums`, in order; sets `rows` to their
// results for an untouched row.
std::vector<int> RowwiseUpdates::dependents(ValueId sums, Rows& rows) const {
  rows[sums] = {Kind::Zero, kNoValue};
  std::vector<int> found;
  const std::vector<int> first = graph_.readers(sums);
  for (std::set<int> next(first.begin(), first.end()); !next.empty();) {
    const int index = *next.begin();
    next.erase(next.begin());
    const Node& node = graph_.node(index);
    if (!node.op->traits.elementwise || node.outputs.size() != 1) continue;
    if (graph_.shape(node.outputs[0]) != graph_.shape(sums)) continue;
    rows[node.outputs[0]] = untouched(node, rows);
    found.push_back(index);
    const std::vector<int> readers = graph_.readers(node.outputs[0]);
    next.insert(readers.begin(), readers.end());
  }
  return found;
}

// Whether a node computes a variable's next value, which equals the previous one in all other rows.
bool RowwiseUpdates::is_update(int index, const Rows& rows) const {
  const ValueId out = graph_.node(index).outputs[0];
  const UntouchedRow& row = rows.at(out);
  if (row.kind != Kind::Same) return false;
  const auto end = ends_.find(row.same);
  return end != ends_.end() && end->second == out;
}

// Values that are also read elsewhere are either updates, or go into the value of a variable as a
// whole; the latter are computed again for the rows.
RowwiseUpdate RowwiseUpdates::of(ValueId sums) const {
  Rows rows;
  const std::vector<int> nodes = dependents(sums, rows);
  RowwiseUpdate update;
  std::set<int> inner;  // nodes that nothing else needs
  const auto read_within = [&](ValueId id) {
    return !graph_.leaves(id) && std::ranges::all_of(graph_.readers(id), [&](int reader) {
      return inner.contains(reader);
    });
  };
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const ValueId out = graph_.node(*it).outputs[0];
    const bool updates = is_update(*it, rows);
    if (updates) update.tables[out] = rows.at(out).same;
    if (updates || read_within(out)) inner.insert(*it);
  }
  if (update.tables.empty() || !read_within(sums)) return {};
  std::set<ValueId> needed;
  for (const auto& [next, table] : update.tables) needed.insert(next);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = graph_.node(*it);
    if (!needed.contains(node.outputs[0])) continue;
    needed.insert(node.inputs.begin(), node.inputs.end());
    update.nodes.insert(*it);
  }
  return needs_itself(update, inner) ? RowwiseUpdate{} : update;
}

// Whether the computation of the rows reads something computed from the tables that they are put
// into, e.g. the sum of all accumulated values.
bool RowwiseUpdates::needs_itself(const RowwiseUpdate& update, const std::set<int>& inner) const {
  std::vector<ValueId> tables;
  for (const auto& [value, table] : update.tables) tables.push_back(value);
  const std::set<ValueId> made = made_of(graph_, std::move(tables), inner);
  std::set<ValueId> own;
  for (const int index : update.nodes) {
    const Node& node = graph_.node(index);
    if (std::ranges::any_of(node.inputs,
                            [&](ValueId id) { return made.contains(id) && !own.contains(id); })) {
      return true;
    }
    own.insert(node.outputs[0]);
  }
  return false;
}

}  // namespace cornu::passes
