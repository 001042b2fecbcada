// SPDX-License-Identifier: Apache-2.0
// The gradient of a tensor that was split: a sum of parts, each padded with zeros to the size of
// the whole, becomes their concatenation.
#include <algorithm>
#include <optional>
#include <utility>

#include "framework/graph/passes/pass.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::passes {
namespace {

// A tensor that is a slice of a larger one along a single axis.
struct Part {
  ValueId value;
  int64_t axis;
  int64_t begin;
  int64_t end;
};

// A value that is a sum of parts only, along one axis, to the extent that they may be joined.
struct SumOfParts {
  int64_t axis;
  int64_t size;   // of all parts together
  int64_t count;  // number of parts, some of which may be empty
};

class PartJoining {
 public:
  explicit PartJoining(const Graph& graph)
      : graph_(graph), part_of_(graph.types.size()), sums_(graph.types.size()) {}

  // Sums are analyzed from first to last and joined from last to first: a sum is joined before the
  // sums it consists of.
  Graph run() && {
    const int count = graph_.size();
    for (int index = 0; index < count; ++index) weigh(graph_.node(index));
    for (int index = count; index-- > 0;) {
      if (!graph_.removed(index) && graph_.node(index).is("add")) join(index);
    }
    return graph_.finish();
  }

 private:
  // The part that a node pads with zeros along one axis.
  std::optional<Part> part_of(const Node& pad) const {
    if (!graph_.is_number(pad.inputs[1], 0)) return std::nullopt;
    const auto& low = pad.attributes.get_ints("low");
    const auto& high = pad.attributes.get_ints("high");
    const auto& interior = pad.attributes.get_ints("interior");
    std::optional<Part> part;
    for (size_t i = 0; i < low.size(); ++i) {
      if (interior[i] != 0) return std::nullopt;
      if (low[i] == 0 && high[i] == 0) continue;
      if (part) return std::nullopt;
      const auto axis = static_cast<int64_t>(i);
      part = {pad.inputs[0], axis, low[i], low[i] + graph_.shape(pad.inputs[0])[axis]};
    }
    return part;
  }

  // A graph that adds each part only once has no more parts than this.
  int64_t most_parts() const { return static_cast<int64_t>(part_of_.size()); }
  int64_t size_at(ValueId id, int64_t axis) const { return graph_.shape(id)[axis]; }
  std::optional<Part>& part(ValueId id) { return part_of_[static_cast<size_t>(id)]; }
  std::optional<SumOfParts>& sum(ValueId id) { return sums_[static_cast<size_t>(id)]; }

  // Determines whether a node's value is a part or a sum of parts, from what is known about its
  // operands.
  void weigh(const Node& node) {
    if (node.is("pad")) {
      const ValueId id = node.outputs[0];
      part(id) = part_of(node);
      if (part(id)) sum(id) = {part(id)->axis, part(id)->end - part(id)->begin, 1};
    } else if (node.is("add")) {
      const ValueId id = node.outputs[0];
      const auto& left = sum(node.inputs[0]);
      const auto& right = sum(node.inputs[1]);
      if (!left || !right || left->axis != right->axis) return;
      if (graph_.type(node.inputs[0]) != graph_.type(id)) return;
      if (graph_.type(node.inputs[1]) != graph_.type(id)) return;
      sum(id) = {left->axis, std::min(left->size + right->size, size_at(id, left->axis) + 1),
                 std::min(left->count + right->count, most_parts() + 1)};
    }
  }

  // The parts that a value is the sum of, in their order along the axis; empty unless they cover
  // the whole, each element exactly once.
  std::vector<Part> parts_of(ValueId whole) {
    const auto& added = sum(whole);
    if (!added || added->count > most_parts()) return {};
    if (added->size != size_at(whole, added->axis)) return {};
    std::vector<Part> parts;
    std::vector<ValueId> left = {whole};
    while (!left.empty()) {
      const ValueId id = left.back();
      left.pop_back();
      if (part(id)) {
        parts.push_back(*part(id));
      } else {
        const std::vector<ValueId>& operands = graph_.producer(id)->inputs;
        left.insert(left.end(), operands.begin(), operands.end());
      }
    }
    std::ranges::sort(parts, {}, [](const Part& part) { return std::pair(part.begin, part.end); });
    int64_t end = 0;
    for (const Part& next : parts) {
      if (next.begin != end) return {};
      end = next.end;
    }
    return parts;
  }

  void join(int index) {
    const ValueId whole = graph_.node(index).outputs[0];
    const std::vector<Part> parts = parts_of(whole);
    if (parts.empty()) return;
    std::vector<ValueId> values;
    for (const Part& part : parts) values.push_back(part.value);
    static const OpDef& op = OpRegistry::global().at("concatenate");
    graph_.replace(whole,
                   graph_.insert(index, op, std::move(values), {{"axis", parts[0].axis}})[0]);
    graph_.remove_unused(whole);
  }

  Rewriter graph_;
  std::vector<std::optional<Part>> part_of_;     // by value
  std::vector<std::optional<SumOfParts>> sums_;  // by value
};

}  // namespace

Graph join_parts(const Graph& graph) { return PartJoining(graph).run(); }

}  // namespace cornu::passes
