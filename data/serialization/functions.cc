// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/functions.h"

#include <algorithm>

#include "framework/core/random.h"
#include "framework/graph/open_axes.h"
#include "framework/graph/portable.h"
#include "framework/graph/trace.h"

namespace cornu::data {
namespace {

bool alike(const Graph& a, const Graph& b);

bool alike(const Attributes& a, const Attributes& b) {
  return std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(), b.entries().end(),
                    [](const Attributes::Entry& one, const Attributes::Entry& other) {
                      const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&one.second);
                      const auto* second = std::get_if<std::shared_ptr<const Graph>>(&other.second);
                      if (graph && second)
                        return one.first == other.first && alike(**graph, **second);
                      return Attributes({one}) == Attributes({other});
                    });
}

bool alike(const cornu::Node& a, const cornu::Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.outputs == b.outputs &&
         alike(a.attributes, b.attributes);
}

// Whether the graphs have the same ops on the same values, regardless of their types.
bool alike(const Graph& a, const Graph& b) {
  return a.inputs == b.inputs && a.outputs == b.outputs && a.states.empty() && b.states.empty() &&
         std::equal(
             a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
             [](const cornu::Node& one, const cornu::Node& other) { return alike(one, other); });
}

// The first op that differs, or that uses a constant that differs.
std::string first_difference(const Graph& a, const Graph& b) {
  size_t i = 0;
  while (i < std::min(a.nodes.size(), b.nodes.size()) && alike(a.nodes[i], b.nodes[i])) ++i;
  if (i >= a.nodes.size()) return "its last";
  const cornu::Node& node = a.nodes[i];
  const auto uses = [&](const cornu::Node& other) {
    return std::find(other.inputs.begin(), other.inputs.end(), node.outputs[0]) !=
           other.inputs.end();
  };
  const auto user = std::find_if(a.nodes.begin(), a.nodes.end(), uses);
  return "'" + (node.is("constant") && user != a.nodes.end() ? *user : node).op->name + "'";
}

// If one axis of a reshape differs between two traces, it is determined by the others: kUnknown.
void open_reshapes(Graph& a, Graph& b) {
  for (size_t i = 0; i < std::min(a.nodes.size(), b.nodes.size()); ++i) {
    if (!a.nodes[i].is("reshape") || !b.nodes[i].is("reshape")) continue;
    std::vector<int64_t> ours = a.nodes[i].attributes.get_ints("shape");
    std::vector<int64_t> theirs = b.nodes[i].attributes.get_ints("shape");
    if (ours.size() != theirs.size()) continue;
    const auto [at, other] = std::mismatch(ours.begin(), ours.end(), theirs.begin());
    if (at == ours.end() || !std::equal(at + 1, ours.end(), other + 1)) continue;
    *at = kUnknown;
    *other = kUnknown;
    a.nodes[i].attributes.set("shape", ours);
    b.nodes[i].attributes.set("shape", theirs);
  }
}

bool may_be(const TensorType& own, const TensorType& given) {
  if (own.dtype != given.dtype || own.shape.rank() != given.shape.rank()) return false;
  for (int64_t axis = 0; axis < own.shape.rank(); ++axis) {
    if (given.shape[axis] != kUnknown && given.shape[axis] != own.shape[axis]) return false;
  }
  return true;
}

std::vector<TensorType> inferred(const Graph& graph, const std::vector<TensorType>& inputs) {
  std::vector<TensorType> types = graph.types;
  const auto at = [&](ValueId id) -> TensorType& { return types[static_cast<size_t>(id)]; };
  for (size_t i = 0; i < inputs.size(); ++i) at(graph.inputs[i]) = inputs[i];
  for (const cornu::Node& node : graph.nodes) {
    if (node.is("constant")) continue;
    std::vector<TensorType> arguments;
    for (const ValueId id : node.inputs) arguments.push_back(at(id));
    const std::vector<TensorType> results = node.op->infer(arguments, node.attributes);
    check<InvalidArgument>(results.size() == node.outputs.size(),
                           "{}: expected {} results, got {}.", node.op->name, results.size(),
                           node.outputs.size());
    for (size_t i = 0; i < results.size(); ++i) at(node.outputs[i]) = results[i];
  }
  std::vector<TensorType> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(at(id));
  return outputs;
}

}  // namespace

PortableFunction trace_for_all_sizes(const TensorFunction& f, const std::vector<TensorType>& types,
                                     const std::string& who) {
  const auto lock = tracing_lock();
  const auto traced = [&](int64_t size, int64_t step) {
    return trace(with_sizes(types, size, step), f, {.name = who});
  };
  TracedGraph first = traced(kSubstituteSizes[0], 0);
  std::string differs;
  const auto goes_on = [&](int64_t size, int64_t step) {
    try {
      Graph other = traced(size, step).graph;
      open_reshapes(first.graph, other);
      if (alike(first.graph, other)) return true;
      differs = first_difference(first.graph, other);
      return false;
    } catch (const InvalidArgument&) {
      return true;  // fails in the same way when such an element arrives
    }
  };
  const bool same =
      goes_on(kSubstituteSizes[1], 1) && goes_on(1009, 0) && goes_on(1, 0) && goes_on(2, 1);
  check<FailedPrecondition>(
      same || !first.graph.states.empty(),
      "{}: it can't be serialized: what its function computes depends on the sizes of axes that "
      "vary: the op {} isn't the same for all. A mean over such an axis divides by its size, a "
      "random op draws as many numbers. Make elements of one shape first, for example with "
      "batch(n, {{.drop_remainder = true}}), or apply it before batch().",
      who, differs);
  return {std::move(first.graph), first.has_key};
}

void write_function(LinkWriter& link, const PortableFunction& function, const std::string& who) {
  const Graph& graph = function.graph;
  check<FailedPrecondition>(
      graph.states.empty(),
      "{}: it can't be serialized: its function reads the variable '{}', which is this process's. "
      "Use its value() as a constant.",
      who, graph.states.empty() ? "" : graph.states.front().name);
  const PortableGraph portable = to_portable(graph);
  link("graph", portable.text)("draws_random", function.has_key)("constants", portable.constants);
}

PortableFunction read_function(LinkReader& link, const std::vector<TensorType>& types) {
  PortableFunction function{
      from_portable({link.get<std::string>("graph"), link.get<std::vector<Tensor>>("constants")}),
      link.get<bool>("draws_random")};
  const Graph& graph = function.graph;
  const size_t own = types.size() + (function.has_key ? 1 : 0);
  check<InvalidArgument>(graph.inputs.size() == own && graph.states.empty(),
                         "expected a graph of {} inputs without states, got {} and {} states.", own,
                         graph.inputs.size(), graph.states.size());
  for (size_t i = 0; i < own; ++i) {
    const TensorType wanted = i < types.size() ? types[i] : TensorType{DType::UInt32, Shape{2}};
    const TensorType& type = graph.type(graph.inputs[i]);
    check<InvalidArgument>(may_be(type, wanted),
                           "expected a graph whose input {} is {} {}, got {} {}.", i, wanted.dtype,
                           wanted.shape, type.dtype, type.shape);
  }
  return function;
}

std::vector<TensorType> result_types(const PortableFunction& function,
                                     const std::vector<TensorType>& types) {
  const auto with_key = [&](std::vector<TensorType> inputs) {
    if (function.has_key) inputs.push_back({DType::UInt32, Shape{2}});
    return inferred(function.graph, inputs);
  };
  const auto [size, other_size] = kSubstituteSizes;
  std::vector<TensorType> results = with_key(with_sizes(types, size));
  const std::vector<TensorType> others = with_key(with_sizes(types, other_size));
  for (size_t i = 0; i < results.size(); ++i) {
    check<InvalidArgument>(results[i].shape.rank() == others[i].shape.rank(),
                           "expected a graph whose results have ranks, got {} and {}.",
                           results[i].shape, others[i].shape);
  }
  return open_where_different(std::move(results), others);
}

TensorFunction replayed(std::shared_ptr<const PortableFunction> function) {
  return [function = std::move(function)](const std::vector<Tensor>& tensors) {
    std::vector<Tensor> inputs = tensors;
    if (function->has_key) {
      const auto draw = next_traced_draw();
      check<FailedPrecondition>(draw.has_value(),
                                "a function with random numbers is called outside of a trace.");
      inputs.push_back(draw->key);
    }
    return replay(function->graph, inputs);
  };
}

}  // namespace cornu::data
