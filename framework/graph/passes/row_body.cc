// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/row_body.h"

#include <map>
#include <memory>

#include "framework/graph/passes/row_ops.h"

namespace cornu::passes {
namespace {

Shape with_rows(int64_t rows, const Shape& table) {
  Shape shape = table;
  shape[0] = rows;
  return shape;
}

// The graph that computes some rows. Operands that have one row per row of the table are read by
// row number.
class RowBody {
 public:
  RowBody(const Rewriter& graph, ValueId sums, int64_t block);

  // Makes a whole operand of the node an input.
  ValueId operand(ValueId id);
  void add(const Node& node);
  // Puts `rows` into the table as its new rows.
  void put(ValueId table, ValueId rows);

  const std::vector<ValueId>& operands() const { return operands_; }  // without numbers and values
  std::shared_ptr<const Graph> finish() { return std::move(body_); }

 private:
  ValueId add_input(TensorType type);
  // An operand's rows; the operand itself if it doesn't have one row per row of the table.
  ValueId inner(ValueId id);

  const Rewriter& graph_;
  Shape table_;
  std::shared_ptr<Graph> body_ = std::make_shared<Graph>();
  ValueId numbers_ = kNoValue;
  std::vector<ValueId> operands_;
  std::map<ValueId, ValueId> operand_of_;  // by value of the outer graph
  std::map<ValueId, ValueId> inner_;       // by value of the outer graph
};

RowBody::RowBody(const Rewriter& graph, ValueId sums, int64_t block)
    : graph_(graph), table_(graph.shape(sums)) {
  numbers_ = add_input({DType::Int64, Shape{block}});
  inner_[sums] = add_input({graph.type(sums).dtype, with_rows(block, table_)});
}

ValueId RowBody::add_input(TensorType type) {
  const ValueId id = body_->add_value(std::move(type));
  body_->inputs.push_back(id);
  return id;
}

ValueId RowBody::operand(ValueId id) {
  const auto [it, is_new] = operand_of_.try_emplace(id);
  if (is_new) {
    it->second = add_input(graph_.type(id));
    operands_.push_back(id);
  }
  return it->second;
}

ValueId RowBody::inner(ValueId id) {
  if (const auto it = inner_.find(id); it != inner_.end()) return it->second;
  const Shape& shape = graph_.shape(id);
  const Node* constant = graph_.producer(id, "constant");
  ValueId made = kNoValue;
  if (constant && shape.num_elements() == 1) {
    made = body_->add_node(*constant->op, {}, constant->attributes)[0];
  } else if (shape.rank() == table_.rank() && shape[0] == table_[0]) {
    made =
        body_->add_node(row_op("gather_rows"), {operand(id), numbers_}, {{"axis", int64_t{0}}})[0];
  } else {
    made = operand(id);
  }
  return inner_[id] = made;
}

void RowBody::add(const Node& node) {
  std::vector<ValueId> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(inner(id));
  inner_[node.outputs[0]] = body_->add_node(*node.op, std::move(inputs), node.attributes)[0];
}

void RowBody::put(ValueId table, ValueId rows) {
  body_->outputs.push_back(
      body_->add_node(row_op("put_rows"), {operand(table), numbers_, inner_.at(rows)})[0]);
}

}  // namespace

std::vector<ValueId> insert_row_update(Rewriter& graph, int place, ValueId sums,
                                       const RowwiseUpdate& update, const RowsOfSums& rows,
                                       int64_t block) {
  RowBody body(graph, sums, block);
  for (const auto& [next, table] : update.tables) body.operand(table);
  for (const int index : update.nodes) body.add(graph.node(index));
  for (const auto& [next, table] : update.tables) body.put(table, next);
  std::vector<ValueId> inputs = {rows.numbers, rows.values};
  inputs.insert(inputs.end(), body.operands().begin(), body.operands().end());
  Attributes attributes = {{"tables", static_cast<int64_t>(update.tables.size())}};
  attributes.set("body", body.finish());
  return graph.insert(place, row_op("update_rows"), std::move(inputs), std::move(attributes));
}

}  // namespace cornu::passes
