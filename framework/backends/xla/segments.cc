// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/xla/segments.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "framework/core/error.h"

namespace cornu::xla {
namespace {

// The nodes [begin, end) as a separate graph; constants among the earlier nodes are duplicated.
Graph part_of_graph(const Graph& graph, size_t begin, size_t end,
                    const std::vector<int32_t>& producers) {
  Graph part;
  part.types = graph.types;
  std::set<ValueId> made;
  for (size_t i = begin; i < end; ++i) {
    const Node& node = graph.nodes[i];
    for (const ValueId id : node.inputs) {
      if (!made.insert(id).second) continue;
      const int32_t producer = producers[static_cast<size_t>(id)];
      const bool is_constant =
          producer >= 0 && graph.nodes[static_cast<size_t>(producer)].is("constant");
      if (is_constant) {
        part.nodes.push_back(graph.nodes[static_cast<size_t>(producer)]);
      } else {
        part.inputs.push_back(id);
      }
    }
    if (node.is("constant") && made.contains(node.outputs[0])) continue;
    for (const ValueId id : node.outputs) made.insert(id);
    part.nodes.push_back(node);
  }
  return part;
}

}  // namespace

std::exception_ptr take_refused(const ProgramText& program, std::vector<ArrayPtr>& results) {
  if (program.refusals.empty()) return nullptr;
  std::array<int64_t, 3> status{};
  const ArrayPtr last = std::move(results.back());
  results.pop_back();
  last->client().read(*last, std::as_writable_bytes(std::span(status)));
  if (status[0] < 0) return nullptr;
  try {
    program.refusals.at(static_cast<size_t>(status[0]))(status[1], status[2]);
  } catch (const Error&) {
    return std::current_exception();
  }
  raise<Internal>("XLA: refusal {} of a program isn't one.", status[0]);
}

Segments::Segments(const Graph& graph, Client& client) : graph_(graph), client_(client) {
  const std::vector<int32_t> producers = graph_.producers();
  // The last use of each value: by a segment, or by the collective after it.
  std::vector<size_t> needed(graph_.types.size(), 0);
  const auto need = [&](ValueId id, size_t segment) {
    size_t& last = needed[static_cast<size_t>(id)];
    last = std::max(last, segment + 1);
  };
  std::vector<std::pair<size_t, size_t>> ranges;
  size_t begin = 0;
  for (size_t i = 0; i <= graph_.nodes.size(); ++i) {
    const bool at_end = i == graph_.nodes.size();
    if (!at_end) {
      const Node& node = graph_.nodes[i];
      if (!node.traits().collective) {
        for (const ValueId id : node.inputs) need(id, ranges.size());
        continue;
      }
      check<Unimplemented>(node.is("all_reduce") || node.is("cond"),
                           "XLA: {} communicates within its body, which replicas can't do whose "
                           "programs differ or that share a device.",
                           node.op->name);
      for (const ValueId id : node.inputs) need(id, ranges.size() + 1);
    }
    ranges.emplace_back(begin, i);
    begin = i + 1;
  }
  for (const ValueId id : graph_.outputs) results_.push_back(id);
  for (const StateBinding& state : graph_.states) {
    if (state.out != state.in) results_.push_back(state.out);
  }
  for (const ValueId id : results_) need(id, ranges.size() + 1);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [from, end] = ranges[i];
    Graph part = part_of_graph(graph_, from, end, producers);
    for (size_t k = from; k < end; ++k) {
      for (const ValueId id : graph_.nodes[k].outputs) {
        if (needed[static_cast<size_t>(id)] > i + 1) part.outputs.push_back(id);
      }
    }
    Segment segment{.in = part.inputs, .out = part.outputs, .program = {}};
    segment.program = lower_program(part, 1);
    if (end < graph_.nodes.size()) {
      const Node& node = graph_.nodes[end];
      segment.collective = &node;
      if (node.is("cond")) {
        segment.then = std::make_unique<Segments>(node.attributes.get_graph("then"), client_);
        segment.otherwise = std::make_unique<Segments>(node.attributes.get_graph("else"), client_);
      }
    }
    segments_.push_back(std::move(segment));
  }
}

LoadedProgram& Segments::program_for(Segment& segment, int device) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<LoadedProgram>& loaded = segment.loaded[device];
  if (!loaded) {
    loaded = client_.compile(segment.program.text, {device}, segment.program.outputs);
  }
  return *loaded;
}

std::vector<ArrayPtr> Segments::run(const std::vector<ArrayPtr>& arguments, int device,
                                    CollectiveGroup& group) {
  std::vector<ArrayPtr> values(graph_.types.size());
  const auto at = [&](ValueId id) -> ArrayPtr& { return values[static_cast<size_t>(id)]; };
  size_t next = 0;
  for (const ValueId id : graph_.inputs) at(id) = arguments[next++];
  for (const StateBinding& state : graph_.states) at(state.in) = arguments[next++];
  for (Segment& segment : segments_) {
    if (!segment.out.empty() || !segment.program.refusals.empty()) {
      std::vector<ArrayPtr> in;
      for (const ValueId id : segment.in) in.push_back(at(id));
      const std::vector<ArrayPtr> lists[] = {std::move(in)};
      std::vector<ArrayPtr> out =
          std::move(program_for(segment, device).run(lists, {}, false).front());
      if (const auto refused = take_refused(segment.program, out)) std::rethrow_exception(refused);
      for (size_t i = 0; i < out.size(); ++i) at(segment.out[i]) = std::move(out[i]);
    }
    if (segment.collective) communicate(segment, values, device, group);
  }
  std::vector<ArrayPtr> results;
  for (const ValueId id : results_) results.push_back(at(id));
  return results;
}

void Segments::communicate(const Segment& segment, std::vector<ArrayPtr>& values, int device,
                           CollectiveGroup& group) const {
  const Node& node = *segment.collective;
  if (!segment.then) return reduce(node, values, device, group);
  std::byte predicate{};
  client_.read(*values[static_cast<size_t>(node.inputs[0])], {&predicate, 1});
  std::vector<ArrayPtr> arguments;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    arguments.push_back(values[static_cast<size_t>(node.inputs[i])]);
  }
  Segments& branch = predicate == std::byte{0} ? *segment.otherwise : *segment.then;
  const std::vector<ArrayPtr> results = branch.run(arguments, device, group);
  for (size_t i = 0; i < results.size(); ++i) {
    values[static_cast<size_t>(node.outputs[i])] = results[i];
  }
}

void Segments::reduce(const Node& node, std::vector<ArrayPtr>& values, int device,
                      CollectiveGroup& group) const {
  std::vector<TensorType> types;
  for (const ValueId id : node.inputs) types.push_back(graph_.type(id));
  const ReduceOp op = reduce_op_of({*node.op, node.attributes, types, types});
  std::vector<std::vector<std::byte>> parts;
  std::map<DType, std::vector<cornu::Segment>> by_dtype;
  for (size_t i = 0; i < types.size(); ++i) {
    parts.emplace_back(types[i].bytes());
    client_.read(*values[static_cast<size_t>(node.inputs[i])], parts.back());
    std::byte* data = parts.back().data();
    by_dtype[types[i].dtype].push_back({data, data, types[i].shape.num_elements()});
  }
  for (const auto& [dtype, segments] : by_dtype) group.all_reduce(segments, dtype, op);
  for (size_t i = 0; i < types.size(); ++i) {
    values[static_cast<size_t>(node.outputs[i])] =
        client_.upload(parts[i].data(), types[i], device);
  }
}

}  // namespace cornu::xla
