// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/update_rows.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "framework/graph/passes/row_body.h"
#include "framework/graph/passes/row_ops.h"

namespace cornu::passes {
namespace {

// The cost of a row, in addition to its bytes, when it is updated individually, in bytes of a row
// that is updated with all others; and the factor by which each byte is at least as expensive.
constexpr int64_t kRowOverhead = 64;
constexpr int64_t kByteOverhead = 2;

constexpr int64_t kMinBlock = 16;  // rows

// Sums over replicas stay rows if a replica has no more rows than this fraction of the table: with
// more, tables are usually reduced and updated as a whole.
constexpr int64_t kPartOfRows = 4;

class RowUpdates {
 public:
  RowUpdates(const Graph& graph, const RowUpdateChoices& choices)
      : choices_(choices), graph_(graph), updates_(graph_, graph.states) {}

  Graph run() {
    for (const int index : graph_.order()) {
      if (graph_.removed(index)) continue;
      const Node& node = graph_.node(index);
      if (adds_scatters(node)) of_scatters_.insert(node.outputs[0]);
      if (choices_.is_exchanged_by_rows && node.is("all_reduce") &&
          node.attributes.find("sparse")) {
        reduce_rows(index);
      } else if (const auto sums = sums_of(index)) {
        update_rows(*sums);
      }
    }
    return graph_.finish();
  }

 private:
  // The result of a scatter_add, or the sum of several (lookups in one table), or the rows of it
  // that a slice takes (for a parameter server).
  struct Sums {
    ValueId value = kNoValue;
    int place = 0;  // of the whole sums: nothing is written before all indices are checked
    std::vector<const Node*> scatters = {};
    int64_t begin = 0;
    int64_t count = 0;  // of indices
  };

  // Whether a node is a scatter_add of rows, or a sum of several that nothing else reads. Their
  // indices have the same dtype, so that they can be concatenated as they are.
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
    for (const Node* scatter : sums.scatters) sums.count += count_of(*scatter);
    const int64_t row = bytes_of_row(sums.value);
    const bool few = sums.count > 0 && table[0] * row >= choices_.least_bytes &&
                     sums.count <= table[0] * row / (kByteOverhead * (row + kRowOverhead));
    return few ? std::optional(sums) : std::nullopt;
  }

  int64_t count_of(const Node& scatter) const {
    return graph_.shape(scatter.inputs[0]).num_elements();
  }
  int64_t bytes_of_row(ValueId table) const {
    return graph_.shape(table).slice(1).num_elements() *
           static_cast<int64_t>(size_of(graph_.type(table).dtype));
  }

  // ---- sums of this replica ----

  void update_rows(const Sums& sums) {
    const RowwiseUpdate update = updates_.of(sums.value);
    if (update.nodes.empty()) return;
    const RowsOfSums rows = sum_rows(sums);
    replace(sums.value, update, rows, block_of(sums.value, rows, choices_.block_bytes));
  }

  RowsOfSums sum_rows(const Sums& sums) {
    const auto made = graph_.insert(sums.place, row_op("sum_rows"), joined(sums),
                                    {{"shape", sums.scatters[0]->attributes.get_ints("shape")},
                                     {"begin", sums.begin},
                                     {"size", graph_.shape(sums.value)[0]}});
    return {.numbers = made[0], .values = made[1]};
  }

  // The concatenated indices and updates of all scatter_adds.
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

  int64_t block_of(ValueId table, const RowsOfSums& rows, int64_t bytes) const {
    const int64_t most = std::max(kMinBlock, bytes / std::max<int64_t>(1, bytes_of_row(table)));
    return std::min(most, graph_.shape(rows.numbers)[0]);
  }

  // Updates tables by rows, right before the last node of the update, which is then no longer
  // needed.
  void replace(ValueId sums, const RowwiseUpdate& update, const RowsOfSums& rows, int64_t block) {
    const int place = *update.nodes.rbegin();
    const auto made = insert_row_update(graph_, place, sums, update, rows, block);
    size_t i = 0;
    for (const auto& [next, table] : update.tables) {
      graph_.replace(next, made[i++]);
      graph_.remove_unused(next);
    }
  }

  // ---- sums over all replicas ----

  bool is_zero(ValueId id) const {
    const Node* node = graph_.producer(id);
    if (node && node->is("broadcast_to")) node = graph_.producer(node->inputs[0]);
    return node && graph_.is_number(node->outputs[0], 0);
  }

  // Splits the reduction: tables are exchanged by rows, and stay rows if they are updated by rows.
  void reduce_rows(int index) {
    const Node& node = graph_.node(index);
    std::vector<size_t> tables;
    std::vector<size_t> others;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      (choices_.is_exchanged_by_rows(graph_.type(node.inputs[i])) ? tables : others).push_back(i);
    }
    if (tables.empty()) return;
    if (!others.empty()) reduce_others(index, others);
    std::vector<RowwiseUpdate> updates;
    std::vector<ValueId> operands;
    std::vector<int64_t> has, shapes, whole;
    for (const size_t i : tables) {
      const ValueId own = node.inputs[i];
      const size_t before = operands.size();
      const bool is_few = add_operands(own, operands);
      has.push_back(static_cast<int64_t>(operands.size() - before));
      const int64_t rows = graph_.shape(own)[0];
      shapes.insert(shapes.end(), {rows, graph_.shape(own).num_elements() / rows});
      updates.push_back(is_few ? update_alone(node, i) : RowwiseUpdate());
      whole.push_back(updates.back().nodes.empty() ? 1 : 0);
    }
    const std::vector<ValueId> made =
        graph_.insert(index, row_op("all_reduce_rows"), operands,
                      {{"operands", has}, {"shapes", shapes}, {"whole", whole}});
    size_t next = 0;
    for (size_t k = 0; k < tables.size(); ++k) {
      const ValueId sums = node.outputs[tables[k]];
      const ValueId numbers = whole[k] ? kNoValue : made[next++];
      const ValueId values =
          insert(index, "reshape", {made[next++]}, {{"shape", graph_.shape(sums).dims()}});
      if (whole[k]) {
        graph_.replace(sums, values);
        continue;
      }
      const RowsOfSums rows = {.numbers = numbers, .values = values};
      replace(sums, updates[k], rows, block_of(sums, rows, choices_.unknown_block_bytes));
    }
    graph_.remove(index);
  }

  // The update of a single table of a reduction; empty if it needs anything computed from another
  // one.
  RowwiseUpdate update_alone(const Node& reduction, size_t table) const {
    RowwiseUpdate update = updates_.of(reduction.outputs[table]);
    std::vector<ValueId> others = reduction.outputs;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(table));
    const std::set<ValueId> of_others = made_of(graph_, std::move(others));
    const bool is_alone = std::ranges::none_of(update.nodes, [&](int index) {
      return std::ranges::any_of(graph_.node(index).inputs,
                                 [&](ValueId id) { return of_others.contains(id); });
    });
    return is_alone ? update : RowwiseUpdate();
  }

  void reduce_others(int index, const std::vector<size_t>& others) {
    const Node& node = graph_.node(index);
    std::vector<ValueId> operands;
    for (const size_t i : others) operands.push_back(node.inputs[i]);
    const auto sums = graph_.insert(index, *node.op, operands,
                                    {{"reduce", node.attributes.get_string("reduce")}});
    for (size_t i = 0; i < others.size(); ++i) graph_.replace(node.outputs[others[i]], sums[i]);
  }

  // Appends this replica's part of a table's sums: no operand if it is zero, otherwise numbers and
  // rows, or the whole table. Returns whether there are so few rows that the sums probably have few
  // rows, too.
  bool add_operands(ValueId own, std::vector<ValueId>& operands) {
    if (is_zero(own)) return true;
    const int producer = graph_.producer_number(own);
    const auto sums = producer >= 0 && graph_.uses(own) == 1 ? sums_of(producer) : std::nullopt;
    if (!sums) {
      operands.push_back(own);
      return false;
    }
    const RowsOfSums rows = sum_rows(*sums);
    operands.insert(operands.end(), {rows.numbers, rows.values});
    return kPartOfRows * sums->count <= graph_.shape(own)[0];
  }

  ValueId insert(int place, std::string_view op, std::vector<ValueId> inputs,
                 Attributes attributes) {
    return graph_.insert(place, OpRegistry::global().at(op), std::move(inputs),
                         std::move(attributes))[0];
  }

  const RowUpdateChoices& choices_;
  Rewriter graph_;
  RowwiseUpdates updates_;
  std::set<ValueId> of_scatters_;  // sums found by adds_scatters()
};

}  // namespace

Graph update_rows(const Graph& graph, const RowUpdateChoices& choices) {
  return RowUpdates(graph, choices).run();
}

}  // namespace cornu::passes
