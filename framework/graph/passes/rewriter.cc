// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/rewriter.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "framework/graph/passes/pass.h"

namespace cornu::passes {

Rewriter::Rewriter(Graph graph) : graph_(std::move(graph)) {
  const size_t values = graph_.types.size();
  producer_.assign(values, -1);
  readers_.resize(values);
  uses_.assign(values, 0);
  leaving_.assign(values, 0);
  for (size_t id = 0; id < values; ++id) replacement_.push_back(static_cast<ValueId>(id));
  auto leave = [&](ValueId id) {
    ++leaving_[static_cast<size_t>(id)];
    ++uses_[static_cast<size_t>(id)];
  };
  for (ValueId id : graph_.outputs) leave(id);
  for (const StateBinding& state : graph_.states) leave(state.out);
  original_ = graph_.nodes.size();
  for (Node& node : graph_.nodes) {
    nodes_.push_back(std::move(node));
    place_.push_back(nodes_.size() - 1);
    index_node(size() - 1);
  }
  removed_.assign(original_, false);
  graph_.nodes.clear();
}

void Rewriter::index_node(int index) {
  for (ValueId id : node(index).outputs) producer_[static_cast<size_t>(id)] = index;
  use(index);
}

void Rewriter::use(int index) {
  for (ValueId id : node(index).inputs) {
    readers_[static_cast<size_t>(id)].push_back(index);
    ++uses_[static_cast<size_t>(id)];
  }
}

std::vector<int> Rewriter::order() const {
  std::vector<std::vector<int>> added(original_);  // by place
  for (size_t i = original_; i < nodes_.size(); ++i)
    added[place_[i]].push_back(static_cast<int>(i));
  std::vector<int> result;
  for (size_t place = 0; place < original_; ++place) {
    for (int index : added[place]) {
      if (!removed(index)) result.push_back(index);
    }
    if (!removed_[place]) result.push_back(static_cast<int>(place));
  }
  return result;
}

const Node* Rewriter::producer(ValueId id) const {
  const int index = producer_[static_cast<size_t>(id)];
  return index < 0 ? nullptr : &node(index);
}

const Node* Rewriter::producer(ValueId id, std::string_view op) const {
  const Node* found = producer(id);
  return found && found->is(op) ? found : nullptr;
}

bool Rewriter::is_number(ValueId id, double number) const {
  const Node* constant = producer(id, "constant");
  if (!constant) return false;
  const Tensor& value = constant->attributes.get_tensor("value");
  return value.num_elements() == 1 && value.item<double>() == number;
}

std::vector<int> Rewriter::readers(ValueId id) const {
  std::vector<int> result;
  for (int index : readers_[static_cast<size_t>(id)]) {
    if (!removed(index) && std::ranges::find(node(index).inputs, id) != node(index).inputs.end()) {
      result.push_back(index);
    }
  }
  auto key = [&](int index) {
    const auto number = static_cast<size_t>(index);
    return std::tuple(place_of(index), number < original_, number);
  };
  std::ranges::sort(result, {}, key);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

ValueId Rewriter::add_value(TensorType type) {
  const ValueId id = graph_.add_value(std::move(type));
  producer_.push_back(-1);
  readers_.emplace_back();
  uses_.push_back(0);
  leaving_.push_back(0);
  replacement_.push_back(id);
  return id;
}

int Rewriter::insert(int place, Node node) {
  node.scope = this->node(place).scope;
  nodes_.push_back(std::move(node));
  place_.push_back(place_of(place));
  removed_.push_back(false);
  index_node(size() - 1);
  return size() - 1;
}

std::vector<ValueId> Rewriter::insert(int place, const OpDef& op, std::vector<ValueId> inputs,
                                      Attributes attributes) {
  std::vector<TensorType> in;
  for (ValueId id : inputs) in.push_back(type(id));
  std::vector<ValueId> outputs;
  for (TensorType& out : op.infer(in, attributes)) outputs.push_back(add_value(std::move(out)));
  insert(place, {.op = &op,
                 .inputs = std::move(inputs),
                 .outputs = outputs,
                 .attributes = std::move(attributes),
                 .scope = {}});
  return outputs;
}

void Rewriter::set_inputs(int index, std::vector<ValueId> inputs) {
  count_uses(index, -1);
  nodes_[static_cast<size_t>(index)].inputs = std::move(inputs);
  use(index);
}

void Rewriter::set_attributes(int index, Attributes attributes) {
  nodes_[static_cast<size_t>(index)].attributes = std::move(attributes);
}

void Rewriter::replace(ValueId old_id, ValueId new_id) {
  if (old_id == new_id) return;
  const auto from = static_cast<size_t>(old_id);
  const auto to = static_cast<size_t>(new_id);
  for (int index : std::exchange(readers_[from], {})) {
    if (removed(index)) continue;
    bool reads = false;
    for (ValueId& id : nodes_[static_cast<size_t>(index)].inputs) {
      if (id != old_id) continue;
      id = new_id;
      reads = true;
    }
    if (reads) readers_[to].push_back(index);
  }
  uses_[to] += std::exchange(uses_[from], 0);
  leaving_[to] += std::exchange(leaving_[from], 0);
  replacement_[from] = new_id;
}

void Rewriter::count_uses(int index, int by) {
  for (ValueId id : node(index).inputs) uses_[static_cast<size_t>(id)] += by;
}

void Rewriter::remove(int index) {
  if (removed(index)) return;
  removed_[static_cast<size_t>(index)] = true;
  count_uses(index, -1);
}

void Rewriter::remove_unused(ValueId id) {
  std::vector<ValueId> candidates = {id};
  while (!candidates.empty()) {
    const int index = producer_[static_cast<size_t>(candidates.back())];
    candidates.pop_back();
    if (index < 0 || removed(index)) continue;
    const Node& candidate = node(index);
    if (must_run(candidate)) continue;
    auto used = [&](ValueId output) { return uses(output) > 0; };
    if (std::ranges::any_of(candidate.outputs, used)) continue;
    remove(index);
    candidates.insert(candidates.end(), candidate.inputs.begin(), candidate.inputs.end());
  }
}

Graph Rewriter::finish() {
  auto final_id = [&](ValueId id) {
    while (replacement_[static_cast<size_t>(id)] != id) id = replacement_[static_cast<size_t>(id)];
    return id;
  };
  for (ValueId& id : graph_.outputs) id = final_id(id);
  for (StateBinding& state : graph_.states) state.out = final_id(state.out);
  for (int index : order()) graph_.nodes.push_back(std::move(nodes_[static_cast<size_t>(index)]));
  sort_topologically(graph_);
  return eliminate_dead_nodes(std::move(graph_));
}

}  // namespace cornu::passes
