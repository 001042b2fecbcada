// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "framework/backends/cpu/passes/internal_ops.h"
#include "framework/backends/cpu/passes/passes.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::cpu {
namespace {

// What a row costs besides its bytes where it is updated by itself, in bytes of one that is updated
// with all others; and how many times as much each byte costs, at least.
constexpr int64_t kRowOverhead = 64;
constexpr int64_t kByteOverhead = 2;

// What a row is made of that nothing was added to.
struct UntouchedRow {
  enum class Kind : uint8_t { Zero, Same, Unknown };
  Kind kind = Kind::Unknown;
  ValueId same = kNoValue;  // the variable whose row it equals
};

class RowUpdates {
 public:
  explicit RowUpdates(const Graph& graph) : graph_(graph) {
    for (const StateBinding& state : graph.states) ends_[state.in] = state.out;
  }

  Graph run() {
    for (const int index : graph_.order()) {
      if (graph_.removed(index)) continue;
      if (adds_scatters(graph_.node(index))) of_scatters_.insert(graph_.node(index).outputs[0]);
      if (const auto sums = sums_of(index)) update_rows(*sums);
    }
    return graph_.finish();
  }

 private:
  using Kind = UntouchedRow::Kind;

  // What a scatter_add gives, or several of them together (of lookups in one table), or the rows of
  // it that a slice takes (a parameter server's).
  struct Sums {
    ValueId value = kNoValue;
    int place = 0;  // of the whole sums: before all indices are checked, nothing is written
    std::vector<const Node*> scatters = {};
    int64_t begin = 0;
  };

  // Whether a node is a scatter_add of rows, or the sum of such that nothing else reads. Their
  // indices are of one dtype, to be joined as they are.
  bool adds_scatters(const Node& node) const {
    if (node.is("scatter_add")) {
      return node.attributes.get_int("axis") == 0 &&
             is_floating(graph_.type(node.outputs[0]).dtype);
    }
    return node.is("add") && std::ranges::all_of(node.inputs, [&](ValueId operand) {
             return of_scatters_.contains(operand) && graph_.uses(operand) == 1 &&
                    graph_.type(operand) == graph_.type(node.outputs[0]) &&
                    index_dtype(operand) == index_dtype(node.inputs[0]);
           });
  }

  DType index_dtype(ValueId sums) const {
    const Node* node = graph_.producer(sums);
    while (!node->is("scatter_add")) node = graph_.producer(node->inputs[0]);
    return graph_.type(node->inputs[0]).dtype;
  }

  void find_scatters(ValueId sums, std::vector<const Node*>& found) const {
    const Node* node = graph_.producer(sums);
    if (node->is("scatter_add")) return found.push_back(node);
    for (const ValueId operand : node->inputs) find_scatters(operand, found);
  }

  std::optional<Sums> sums_of(int index) const {
    const Node& node = graph_.node(index);
    const bool is_slice = node.is("slice");
    const ValueId whole = is_slice ? node.inputs[0] : node.outputs[0];
    if (!of_scatters_.contains(whole)) return std::nullopt;
    Sums sums = {.value = node.outputs[0], .place = graph_.producer_number(whole)};
    const Shape& table = graph_.shape(sums.value);
    if (is_slice) {
      if (graph_.shape(whole).slice(1) != table.slice(1)) return std::nullopt;
      if (node.attributes.get_ints("strides")[0] != 1) return std::nullopt;
      sums.begin = node.attributes.get_ints("begin")[0];
    }
    find_scatters(whole, sums.scatters);
    int64_t count = 0;
    for (const Node* scatter : sums.scatters) count += count_of(*scatter);
    const int64_t row = table.slice(1).num_elements() *
                        static_cast<int64_t>(size_of(graph_.type(sums.value).dtype));
    const bool few = count > 0 && count <= table[0] * row / (kByteOverhead * (row + kRowOverhead));
    return few ? std::optional(sums) : std::nullopt;
  }

  int64_t count_of(const Node& scatter) const {
    return graph_.shape(scatter.inputs[0]).num_elements();
  }

  // ---- which nodes are computed of rows ----

  // What node `node` makes of a row that nothing was added to, where `rows` knows its operands that
  // depend on the sums.
  UntouchedRow untouched(const Node& node, const std::map<ValueId, UntouchedRow>& rows) const {
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

  // The elementwise nodes over the table that depend on `sums`, in order, with what they make of an
  // untouched row.
  std::vector<int> dependents(ValueId sums, std::map<ValueId, UntouchedRow>& rows) const {
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

  // Whether a node gives a variable's next value, which is the last one in all other rows.
  bool is_update(int index, const std::map<ValueId, UntouchedRow>& rows) const {
    const ValueId out = graph_.node(index).outputs[0];
    const UntouchedRow& row = rows.at(out);
    if (row.kind != Kind::Same) return false;
    const auto end = ends_.find(row.same);
    return end != ends_.end() && end->second == out;
  }

  // Those of `nodes` that need no row but those of the sums: values which are read from elsewhere,
  // too, are updates. Empty where the sums themselves are needed whole.
  std::set<int> rowwise(ValueId sums, const std::vector<int>& nodes,
                        const std::map<ValueId, UntouchedRow>& rows) const {
    std::set<int> chosen;
    const auto read_within = [&](ValueId id) {
      return !graph_.leaves(id) && std::ranges::all_of(graph_.readers(id), [&](int reader) {
        return chosen.contains(reader);
      });
    };
    bool updates = false;
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      if (!is_update(*it, rows) && !read_within(graph_.node(*it).outputs[0])) continue;
      chosen.insert(*it);
      updates |= is_update(*it, rows);
    }
    return updates && read_within(sums) ? chosen : std::set<int>{};
  }

  // ---- computing them ----

  ValueId insert(int place, std::string_view op, std::vector<ValueId> inputs,
                 Attributes attributes) {
    return graph_.insert(place, OpRegistry::global().at(op), std::move(inputs),
                         std::move(attributes))[0];
  }

  void update_rows(const Sums& sums) {
    std::map<ValueId, UntouchedRow> untouched_rows;
    const std::vector<int> nodes = dependents(sums.value, untouched_rows);
    const std::set<int> chosen = rowwise(sums.value, nodes, untouched_rows);
    if (chosen.empty()) return;
    const Shape table = graph_.shape(sums.value);
    const std::vector<ValueId> summed =
        graph_.insert(sums.place, internal_op("sum_rows"), joined(sums),
                      {{"shape", sums.scatters[0]->attributes.get_ints("shape")},
                       {"begin", sums.begin},
                       {"size", table[0]}});
    std::map<ValueId, ValueId> rows_of = {{sums.value, summed[1]}};
    std::map<ValueId, ValueId> updated;
    for (const int index : chosen) {
      std::vector<ValueId> inputs = graph_.node(index).inputs;
      for (ValueId& id : inputs) id = rows(index, id, summed[0], table, rows_of);
      const Node& node = graph_.node(index);
      const ValueId out = node.outputs[0];
      rows_of[out] = graph_.insert(index, *node.op, std::move(inputs), node.attributes)[0];
      if (!is_update(index, untouched_rows)) continue;
      const std::vector<ValueId> put = {untouched_rows.at(out).same, summed[0], rows_of[out]};
      updated[out] = graph_.insert(index, internal_op("put_rows"), put, {})[0];
    }
    for (const auto& [whole, replacement] : updated) {
      graph_.replace(whole, replacement);
      graph_.remove_unused(whole);
    }
  }

  // The indices and updates of all scatter_adds.
  std::vector<ValueId> joined(const Sums& sums) {
    if (sums.scatters.size() == 1) return sums.scatters[0]->inputs;
    const Shape row = graph_.shape(sums.value).slice(1);
    std::vector<ValueId> indices;
    std::vector<ValueId> updates;
    for (const Node* scatter : sums.scatters) {
      const Shape count = {count_of(*scatter)};
      const ValueId given[] = {scatter->inputs[0], scatter->inputs[1]};
      indices.push_back(insert(sums.place, "reshape", {given[0]}, {{"shape", count.dims()}}));
      updates.push_back(
          insert(sums.place, "reshape", {given[1]}, {{"shape", count.concat(row).dims()}}));
    }
    const Attributes first_axis = {{"axis", int64_t{0}}};
    return {insert(sums.place, "concatenate", indices, first_axis),
            insert(sums.place, "concatenate", updates, first_axis)};
  }

  // Those rows of an operand that are numbered by `numbers`; itself where it has one for all.
  ValueId rows(int place, ValueId id, ValueId numbers, const Shape& table,
               std::map<ValueId, ValueId>& rows_of) {
    const auto found = rows_of.find(id);
    if (found != rows_of.end()) return found->second;
    const Shape& shape = graph_.shape(id);
    if (shape.rank() != table.rank() || shape[0] != table[0]) return id;
    return rows_of[id] = graph_.insert(place, internal_op("gather_rows"), {id, numbers},
                                       {{"axis", int64_t{0}}})[0];
  }

  passes::Rewriter graph_;
  std::set<ValueId> of_scatters_;    // sums that adds_scatters() has found
  std::map<ValueId, ValueId> ends_;  // by a variable's value at the beginning, that at the end
};

}  // namespace

Graph update_rows(const Graph& graph) { return RowUpdates(graph).run(); }

}  // namespace cornu::cpu
