// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>
#include <set>

#include "framework/backends/cpu/passes/internal_ops.h"
#include "framework/backends/cpu/passes/passes.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kFewRows = 2;  // a table has this many times the rows that are added to, at least

// What a row is made of that nothing was added to.
struct UntouchedRow {
  enum class Kind : uint8_t { Zero, Same, Unknown };
  Kind kind = Kind::Unknown;
  ValueId same = kNoValue;  // the variable whose row it equals
};

class RowUpdates {
 public:
  explicit RowUpdates(const Graph& graph) : graph_(graph) {}

  Graph run() {
    for (const int index : graph_.order()) join_sums(index);
    for (const int index : graph_.order()) {
      if (const auto sums = sums_of(index)) update_rows(*sums);
    }
    return graph_.finish();
  }

 private:
  using Kind = UntouchedRow::Kind;

  // What a scatter_add gives, or the rows of it that a slice takes: a parameter server's.
  struct Sums {
    ValueId value = kNoValue;
    int place = 0;  // of the scatter_add: before it has checked all indices, nothing is written
    const Node* scatter = nullptr;
    int64_t begin = 0;
  };

  ValueId insert(int place, std::string_view op, std::vector<ValueId> inputs,
                 Attributes attributes) {
    return graph_.insert(place, OpRegistry::global().at(op), std::move(inputs),
                         std::move(attributes))[0];
  }

  // Whether so many rows of it are few, of `rows`.
  bool adds_to_few(const Node& scatter, int64_t rows) const {
    const int64_t count = graph_.shape(scatter.inputs[0]).num_elements();
    return scatter.attributes.get_int("axis") == 0 && count > 0 && count <= rows / kFewRows &&
           is_floating(graph_.type(scatter.outputs[0]).dtype);
  }

  std::optional<Sums> sums_of(int index) const {
    if (graph_.removed(index)) return std::nullopt;
    const Node& node = graph_.node(index);
    if (!node.is("scatter_add") && !node.is("slice")) return std::nullopt;
    Sums sums = {.value = node.outputs[0], .place = index, .scatter = &node, .begin = 0};
    const Shape& shape = graph_.shape(sums.value);
    if (node.is("slice")) {
      sums.scatter = graph_.producer(node.inputs[0], "scatter_add");
      if (!sums.scatter || graph_.shape(node.inputs[0]).slice(1) != shape.slice(1) ||
          node.attributes.get_ints("strides")[0] != 1) {
        return std::nullopt;
      }
      sums.place = graph_.producer_number(node.inputs[0]);
      sums.begin = node.attributes.get_ints("begin")[0];
    }
    return adds_to_few(*sums.scatter, shape[0]) ? std::optional(sums) : std::nullopt;
  }

  // The sum of what two lookups in one table add to it.
  void join_sums(int index) {
    if (graph_.removed(index) || !graph_.node(index).is("add")) return;
    const std::vector<ValueId> sums = graph_.node(index).inputs;
    const Node* const nodes[] = {graph_.producer(sums[0], "scatter_add"),
                                 graph_.producer(sums[1], "scatter_add")};
    if (!nodes[0] || !nodes[1] || nodes[0] == nodes[1]) return;
    if (graph_.type(sums[0]) != graph_.type(sums[1])) return;
    const Shape row = graph_.shape(sums[0]).slice(1);
    std::vector<ValueId> indices;
    std::vector<ValueId> updates;
    for (const Node* node : nodes) {
      if (!adds_to_few(*node, graph_.shape(sums[0])[0]) || graph_.uses(node->outputs[0]) != 1) {
        return;
      }
      const ValueId given[] = {node->inputs[0], node->inputs[1]};
      const Shape count = {graph_.shape(given[0]).num_elements()};
      const ValueId wide = insert(index, "cast", {given[0]}, {{"dtype", DType::Int64}});
      indices.push_back(insert(index, "reshape", {wide}, {{"shape", count.dims()}}));
      updates.push_back(
          insert(index, "reshape", {given[1]}, {{"shape", count.concat(row).dims()}}));
    }
    const Attributes first_axis = {{"axis", int64_t{0}}};
    const ValueId joined = insert(index, "scatter_add",
                                  {insert(index, "concatenate", indices, first_axis),
                                   insert(index, "concatenate", updates, first_axis)},
                                  nodes[0]->attributes);
    const ValueId sum = graph_.node(index).outputs[0];
    graph_.replace(sum, joined);
    graph_.remove_unused(sum);
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

  bool is_same(int index, const std::map<ValueId, UntouchedRow>& rows) const {
    return rows.at(graph_.node(index).outputs[0]).kind == Kind::Same;
  }

  // Those of `nodes` that need no row but those of the sums: values which are read from elsewhere,
  // too, equal a variable in all other rows. Empty where the sums themselves are needed whole.
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
      if (!is_same(*it, rows) && !read_within(graph_.node(*it).outputs[0])) continue;
      chosen.insert(*it);
      updates |= is_same(*it, rows);
    }
    return updates && read_within(sums) ? chosen : std::set<int>{};
  }

  // ---- computing them ----

  void update_rows(const Sums& sums) {
    std::map<ValueId, UntouchedRow> untouched_rows;
    const std::vector<int> nodes = dependents(sums.value, untouched_rows);
    const std::set<int> chosen = rowwise(sums.value, nodes, untouched_rows);
    if (chosen.empty()) return;
    const Shape table = graph_.shape(sums.value);
    const std::vector<ValueId> summed =
        graph_.insert(sums.place, internal_op("sum_rows"), sums.scatter->inputs,
                      {{"shape", sums.scatter->attributes.get_ints("shape")},
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
      if (!is_same(index, untouched_rows)) continue;
      const std::vector<ValueId> put = {untouched_rows.at(out).same, summed[0], rows_of[out]};
      updated[out] = graph_.insert(index, internal_op("put_rows"), put, {})[0];
    }
    for (const auto& [whole, replacement] : updated) {
      graph_.replace(whole, replacement);
      graph_.remove_unused(whole);
    }
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
};

}  // namespace

Graph update_rows(const Graph& graph) { return RowUpdates(graph).run(); }

}  // namespace cornu::cpu
