// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/rows_ahead.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "framework/graph/passes/pass.h"

namespace cornu::distribute {
namespace {

// The nodes from which a value is computed, if all of them may run twice and none reads `states`.
std::optional<std::vector<char>> nodes_before(const Graph& graph, ValueId value,
                                              const std::vector<char>& is_state) {
  const std::vector<int32_t> producers = graph.producers();
  std::vector<char> needed(graph.nodes.size(), 0);
  std::vector<ValueId> left = {value};
  while (!left.empty()) {
    const ValueId next = left.back();
    left.pop_back();
    if (is_state[static_cast<size_t>(next)]) return std::nullopt;
    const int32_t node = producers[static_cast<size_t>(next)];
    if (node < 0 || needed[static_cast<size_t>(node)]) continue;
    if (passes::must_run(graph.nodes[static_cast<size_t>(node)])) return std::nullopt;
    needed[static_cast<size_t>(node)] = 1;
    for (const ValueId input : graph.nodes[static_cast<size_t>(node)].inputs) left.push_back(input);
  }
  return needed;
}

// Moves taking rows ahead of the step, for variables of which the worker's part uses nothing but
// rows.
class RowsAhead {
 public:
  RowsAhead(DividedStep& divided, size_t own_inputs)
      : divided_(divided), graph_(divided.worker), own_inputs_(own_inputs) {}

  void take() {
    std::vector<char> is_state(graph_.types.size(), 0);
    for (size_t i = own_inputs_; i < graph_.inputs.size(); ++i) {
      is_state[static_cast<size_t>(graph_.inputs[i])] = 1;
    }
    divided_.ahead = graph_;
    divided_.ahead.outputs.clear();
    std::vector<char> needed(graph_.nodes.size(), 0);
    std::vector<Variable> read;
    std::vector<ValueId> inputs(graph_.inputs.begin(),
                                graph_.inputs.begin() + static_cast<int64_t>(own_inputs_));
    std::vector<ValueId> rows;
    for (size_t i = 0; i < divided_.read.size(); ++i) {
      const ValueId value = graph_.inputs[own_inputs_ + i];
      const std::vector<size_t> takes = takes_of(value, is_state);
      if (takes.empty()) {
        inputs.push_back(value);
        read.push_back(divided_.read[i]);
        continue;
      }
      for (const size_t node : takes) {
        Node& take = graph_.nodes[node];
        const auto before = *nodes_before(graph_, take.inputs[1], is_state);
        for (size_t k = 0; k < before.size(); ++k) needed[k] = needed[k] || before[k];
        divided_.taken.push_back({divided_.read[i], index_output(take.inputs[1])});
        rows.push_back(take.outputs[0]);
        removed_.push_back(node);
      }
    }
    inputs.insert(inputs.end(), rows.begin(), rows.end());
    keep(divided_.ahead, needed);
    divided_.ahead.inputs.resize(own_inputs_);
    std::vector<char> kept(graph_.nodes.size(), 1);
    for (const size_t node : removed_) kept[node] = 0;
    keep(graph_, kept);
    graph_.inputs = std::move(inputs);
    divided_.read = std::move(read);
  }

 private:
  // The nodes that take rows of a variable, if nothing else reads it and the rows are smaller than
  // it.
  std::vector<size_t> takes_of(ValueId value, const std::vector<char>& is_state) const {
    if (std::ranges::find(graph_.outputs, value) != graph_.outputs.end()) return {};
    std::vector<size_t> takes;
    size_t bytes = 0;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (std::ranges::find(node.inputs, value) == node.inputs.end()) continue;
      const bool takes_rows = node.is("gather") && node.attributes.get_int("axis") == 0 &&
                              node.inputs[1] != value && graph_.type(value).shape.rank() > 0 &&
                              nodes_before(graph_, node.inputs[1], is_state);
      if (!takes_rows) return {};
      bytes += graph_.type(node.outputs[0]).bytes();
      takes.push_back(i);
    }
    return bytes < graph_.type(value).bytes() ? takes : std::vector<size_t>();
  }

  size_t index_output(ValueId indices) {
    std::vector<ValueId>& outputs = divided_.ahead.outputs;
    const auto found = std::ranges::find(outputs, indices);
    if (found != outputs.end()) return static_cast<size_t>(found - outputs.begin());
    outputs.push_back(indices);
    return outputs.size() - 1;
  }

  static void keep(Graph& graph, const std::vector<char>& kept) {
    std::vector<Node> nodes;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) nodes.push_back(std::move(graph.nodes[i]));
    }
    graph.nodes = std::move(nodes);
  }

  DividedStep& divided_;
  Graph& graph_;
  const size_t own_inputs_;
  std::vector<size_t> removed_;
};

}  // namespace

void take_rows_ahead(DividedStep& divided, size_t own_inputs) {
  RowsAhead(divided, own_inputs).take();
}

}  // namespace cornu::distribute
