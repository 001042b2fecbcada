// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/lowering.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "framework/graph/passes/pass.h"
#include "framework/graph/trace.h"
#include "framework/saving/onnx/lowering_rules.h"
#include "framework/saving/onnx/onnx_proto.h"
#include "framework/saving/onnx/recurrences.h"

namespace cornu::onnx {
namespace {

const OpDef& constant_op() { return OpRegistry::global().at("constant"); }

// Runs an op on the host, regardless of tracing and the default device.
std::vector<Tensor> computed(const OpDef& op, const std::vector<Tensor>& inputs,
                             const Attributes& attributes) {
  const TracerScope no_trace(nullptr);
  const StopRecordingScope unobserved;
  const DeviceScope host("CPU:0");
  return apply(op, inputs, attributes);
}

// Whether the op moves or converts the elements of a constant without changing its meaning.
bool keeps_name(const OpDef& op) {
  return op.name == "reshape" || op.name == "transpose" || op.name == "cast";
}

AttributeValue exported(const AttributeValue& value);

// Converts the graph to the dtypes used in files.
Graph exported(Graph graph) {
  for (TensorType& type : graph.types) type.dtype = exported_dtype(type.dtype);
  for (Node& node : graph.nodes) {
    Attributes attributes = node.attributes;
    for (const auto& [name, value] : node.attributes.entries()) {
      attributes.set(name, exported(value));
    }
    node.attributes = std::move(attributes);
  }
  return graph;
}

Tensor exported(const Tensor& value) {
  static const OpDef& cast = OpRegistry::global().at("cast");
  const DType dtype = exported_dtype(value.dtype());
  return dtype == value.dtype() ? value : computed(cast, {value}, {{"dtype", dtype}})[0];
}

AttributeValue exported(const AttributeValue& value) {
  if (const auto* dtype = std::get_if<DType>(&value)) return exported_dtype(*dtype);
  if (const auto* tensor = std::get_if<Tensor>(&value)) return exported(*tensor);
  if (const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&value)) {
    return std::make_shared<const Graph>(exported(**graph));
  }
  return value;
}

// Rebuilds a graph node by node, replacing some of the nodes.
class Lowerer {
 public:
  Lowerer(Graph graph, NamedConstants& constants)
      : from_(std::move(graph)), constants_(constants), names_(from_.types.size()) {
    to_.types = from_.types;
    to_.inputs = from_.inputs;
    for (size_t i = 0; i < from_.types.size(); ++i) now_.push_back(static_cast<ValueId>(i));
  }

  Graph run() {
    for (const StateBinding& state : from_.states) {
      check<Unimplemented>(
          state.in == state.out,
          "ONNX: predictions of this model change its variable '{}', and an ONNX model keeps no "
          "state between runs. Make the layer without stateful = true, or give the state as an "
          "input of the model.",
          state.variable.defined() ? state.variable.path() : state.name);
      append_constant(constants_.of(state.variable), state.in, {});
    }
    for (const Node& node : from_.nodes) append(node);
    for (const ValueId id : from_.outputs) to_.outputs.push_back(now(id));
    return std::move(to_);
  }

 private:
  ValueId& now(ValueId id) { return now_[static_cast<size_t>(id)]; }

  void append_constant(const Tensor& value, ValueId id, const std::string& scope) {
    if (!constants_.name_of(value).empty()) names_[static_cast<size_t>(id)] = value;
    to_.nodes.push_back({.op = &constant_op(),
                         .inputs = {},
                         .outputs = {id},
                         .attributes = {{"value", value}},
                         .scope = scope});
  }

  void append(Node node) {
    if (keeps_name(*node.op) && names_[static_cast<size_t>(node.inputs[0])].defined()) {
      const Tensor& value = names_[static_cast<size_t>(node.inputs[0])];
      append_constant(constants_.derived(*node.op, {value}, node.attributes), node.outputs[0],
                      node.scope);
      return;
    }
    for (ValueId& id : node.inputs) id = now(id);
    if (const Lowering rule = lowering_of(node.op->name)) {
      replace(node, rule);
      return;
    }
    lower_graphs(node);
    to_.nodes.push_back(std::move(node));
  }

  void lower_graphs(Node& node) {
    Attributes attributes = node.attributes;
    for (const auto& [name, value] : node.attributes.entries()) {
      const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&value);
      if (!graph) continue;
      attributes.set(name, std::make_shared<const Graph>(lowered(**graph, constants_)));
    }
    node.attributes = std::move(attributes);
  }

  void replace(const Node& node, Lowering rule) {
    std::vector<TensorType> types;
    for (const ValueId id : node.inputs) types.push_back(to_.type(id));
    const TracedGraph traced = trace(
        types, [&](const std::vector<Tensor>& inputs) { return rule(inputs, node.attributes); },
        {.name = node.op->name, .allow_state = false, .own_key = false, .capture_values = false});
    const Graph inner = lowered_again(traced.graph, rule);
    std::vector<ValueId> place(inner.types.size(), kNoValue);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      place[static_cast<size_t>(inner.inputs[i])] = node.inputs[i];
    }
    for (Node part : inner.nodes) {
      for (ValueId& id : part.inputs) id = place[static_cast<size_t>(id)];
      for (ValueId& id : part.outputs) {
        id = place[static_cast<size_t>(id)] = to_.add_value(inner.type(id));
      }
      part.scope = node.scope;
      to_.nodes.push_back(std::move(part));
    }
    for (size_t i = 0; i < inner.outputs.size(); ++i) {
      now(node.outputs[i]) = place[static_cast<size_t>(inner.outputs[i])];
    }
  }

  // Results of a rule may have rules of their own, but not the same one.
  Graph lowered_again(Graph graph, Lowering rule) {
    for (const Node& node : graph.nodes) {
      CORNU_ASSERT(lowering_of(node.op->name) == rule, ==, false);
    }
    return Lowerer(std::move(graph), constants_).run();
  }

  Graph from_;
  Graph to_;
  NamedConstants& constants_;
  std::vector<ValueId> now_;   // from_ value -> to_ value
  std::vector<Tensor> names_;  // by from_ value: the constant, if it has a name
};

Graph improved(const Graph& graph, NamedConstants& constants) {
  const passes::Evaluator evaluate = [&](const OpDef& op, std::span<const Tensor> inputs,
                                         const Attributes& attributes,
                                         std::span<const TensorType>) {
    if (keeps_name(op) && !constants.name_of(inputs[0]).empty()) {
      return std::vector<Tensor>{constants.derived(op, {inputs[0]}, attributes)};
    }
    return constants.computed(op, {inputs.begin(), inputs.end()}, attributes);
  };
  return passes::simplify(passes::layout(passes::simplify(graph, evaluate)), evaluate);
}

Graph cleaned(const Graph& graph, NamedConstants& constants) {
  return improved(Lowerer(improved(exported(graph), constants), constants).run(), constants);
}

}  // namespace

Tensor NamedConstants::of(const Variable& variable) {
  Tensor& value = values_[variable.id()];
  if (!value.defined()) {
    value = exported(variable.value().host());
    name(value, variable.path());
  }
  return value;
}

void NamedConstants::name(const Tensor& value, const std::string& name) {
  names_.insert_or_assign(value.id(), Named{value, name});
}

const std::string& NamedConstants::name_of(const Tensor& value) const {
  static const std::string none;
  const auto found = names_.find(value.id());
  return found == names_.end() ? none : found->second.name;
}

// "" unless the inputs have names, which keep them alive, and the attributes are plain.
std::string NamedConstants::key(const OpDef& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes) const {
  std::string text = op.name;
  for (const Tensor& input : inputs) {
    if (name_of(input).empty()) return {};
    text += fmt::format(" {}", input.id());
  }
  for (const auto& [name, attribute] : attributes.entries()) {
    const bool plain = std::visit(
        [&text]<class T>(const T& value) {
          if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
            text += fmt::format(" [{}]", fmt::join(value, " "));
          } else if constexpr (std::is_same_v<T, Tensor> ||
                               std::is_same_v<T, std::shared_ptr<const Graph>>) {
            return false;
          } else {
            text += fmt::format(" {}", value);
          }
          return true;
        },
        attribute);
    if (!plain) return {};
  }
  return text;
}

Tensor NamedConstants::derived(const OpDef& op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes) {
  const std::string known = key(op, inputs, attributes);
  if (const auto found = derived_.find(known); found != derived_.end()) return found->second;
  const Tensor made = computed(op, inputs, attributes)[0];
  const auto named =
      std::ranges::find_if(inputs, [this](const Tensor& input) { return !name_of(input).empty(); });
  if (named != inputs.end()) name(made, std::string(name_of(*named)));
  if (!known.empty()) derived_[known] = made;
  return made;
}

std::vector<Tensor> NamedConstants::computed(const OpDef& op, const std::vector<Tensor>& inputs,
                                             const Attributes& attributes) {
  std::vector<Tensor> results = onnx::computed(op, inputs, attributes);
  const auto is_result = [&](const Tensor& input) { return input.id() == results[0].id(); };
  if (results.size() == 1 && std::ranges::none_of(inputs, is_result)) {
    origins_.insert_or_assign(results[0].id(), Origin{&op, inputs, attributes, results[0]});
  }
  return results;
}

const NamedConstants::Origin* NamedConstants::origin_of(const Tensor& value) const {
  const auto found = origins_.find(value.id());
  return found == origins_.end() ? nullptr : &found->second;
}

Graph lowered(const Graph& graph, NamedConstants& constants) {
  const auto clean = [&constants](const Graph& part) { return cleaned(part, constants); };
  return improved(with_recurrences(clean(graph), constants, clean), constants);
}

}  // namespace cornu::onnx
