// SPDX-License-Identifier: Apache-2.0
// The gradient of a tensor that was split: a sum of parts, each of which is padded with zeros to
// the whole, becomes their concatenation.
#include <algorithm>
#include <optional>
#include <utility>

#include "framework/graph/passes/pass.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::passes {
namespace {

// A tensor that is a part of a larger one, of all of its other axes.
struct Part {
  ValueId value;
  int64_t axis;
  int64_t begin;
  int64_t end;
};

class PartJoining {
 public:
  explicit PartJoining(const Graph& graph) : graph_(graph) {}

  // From last to first: a sum goes before those that it is made of.
  Graph run() && {
    for (int index = graph_.size(); index-- > 0;) {
      if (!graph_.removed(index) && graph_.node(index).is("add")) join(index);
    }
    return graph_.finish();
  }

 private:
  // What a node pads with zeros, at one axis.
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

  // The parts that a sum adds, in their order along the axis; none where it adds anything else, or
  // where they aren't the whole, each element once.
  std::vector<Part> parts_of(const Node& sum) const {
    std::vector<Part> parts;
    std::vector<ValueId> left = sum.inputs;
    while (!left.empty()) {
      const ValueId id = left.back();
      left.pop_back();
      if (graph_.type(id) != graph_.type(sum.outputs[0])) return {};
      if (const Node* inner = graph_.producer(id, "add")) {
        left.insert(left.end(), inner->inputs.begin(), inner->inputs.end());
        continue;
      }
      const Node* pad = graph_.producer(id, "pad");
      const auto part = pad ? part_of(*pad) : std::nullopt;
      if (!part || (!parts.empty() && part->axis != parts[0].axis)) return {};
      parts.push_back(*part);
    }
    std::ranges::sort(parts, {}, [](const Part& part) { return std::pair(part.begin, part.end); });
    int64_t end = 0;
    for (const Part& part : parts) {
      if (part.begin != end) return {};
      end = part.end;
    }
    return end == graph_.shape(sum.outputs[0])[parts[0].axis] ? parts : std::vector<Part>{};
  }

  void join(int index) {
    const ValueId sum = graph_.node(index).outputs[0];
    const std::vector<Part> parts = parts_of(graph_.node(index));
    if (parts.empty()) return;
    std::vector<ValueId> values;
    for (const Part& part : parts) values.push_back(part.value);
    static const OpDef& op = OpRegistry::global().at("concatenate");
    graph_.replace(sum, graph_.insert(index, op, std::move(values), {{"axis", parts[0].axis}})[0]);
    graph_.remove_unused(sum);
  }

  Rewriter graph_;
};

}  // namespace

Graph join_parts(const Graph& graph) { return PartJoining(graph).run(); }

}  // namespace cornu::passes
