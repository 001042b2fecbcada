// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/xla/lowering.h"

#include "framework/core/error.h"

namespace cornu::xla {

Values LoweringTable::lower(const KernelSpec& spec, std::span<const Value> in, Writer& to) const {
  const auto it = entries_.find(spec.op.name);
  Values results = it == entries_.end() ? Values() : it->second(spec, in, to);
  check<Unimplemented>(!results.empty(),
                       "{}: the XLA backend has no kernel for inputs ({}). Cast them to float32, "
                       "or use another device.",
                       spec.op.name, types_text(spec.inputs));
  CORNU_ASSERT(results.size(), ==, spec.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    CORNU_ASSERT((results[i].type == spec.outputs[i]), ==, true);
  }
  return results;
}

bool LoweringTable::supports(const KernelSpec& spec) const {
  Writer scratch;
  Values in;
  for (const TensorType& type : spec.inputs) in.push_back(scratch.parameter(type));
  try {
    lower(spec, in, scratch);
    return true;
  } catch (const Unimplemented&) {
    return false;
  }
}

Values lower_graph(const Graph& graph, std::span<const Value> inputs, Writer& to) {
  Values values(graph.types.size());
  const auto at = [&](ValueId id) -> Value& { return values[static_cast<size_t>(id)]; };
  size_t next = 0;
  for (const ValueId id : graph.inputs) at(id) = inputs[next++];
  for (const StateBinding& state : graph.states) at(state.in) = inputs[next++];
  for (const Node& node : graph.nodes) {
    Values in;
    std::vector<TensorType> in_types;
    std::vector<TensorType> out_types;
    for (const ValueId id : node.inputs) {
      in.push_back(at(id));
      in_types.push_back(graph.type(id));
    }
    for (const ValueId id : node.outputs) out_types.push_back(graph.type(id));
    Values out = lowering_table().lower({*node.op, node.attributes, in_types, out_types}, in, to);
    for (size_t i = 0; i < out.size(); ++i) at(node.outputs[i]) = std::move(out[i]);
  }
  Values results;
  for (const ValueId id : graph.outputs) results.push_back(at(id));
  for (const StateBinding& state : graph.states) {
    if (state.out != state.in) results.push_back(at(state.out));
  }
  return results;
}

namespace {

// States keep their values when a check has failed.
void keep_refused(const Graph& graph, const Values& parameters, const std::vector<size_t>& written,
                  Values& results, Writer& to) {
  const Value number = slice_axis(to, to.status(), 0, 0, 1);
  const Value fine = reshape(to, compare(to, "LT", number, like(to, 0, number)), {});
  for (size_t i = 0; i < written.size(); ++i) {
    Value& result = results[graph.outputs.size() + i];
    const Value& before = parameters[graph.inputs.size() + written[i]];
    result = select(to, spread(to, fine, result.shape()), result, before);
  }
}

}  // namespace

std::string module_text(const Writer& to, const Values& parameters, const Values& results,
                        const std::vector<std::string>& attributes) {
  std::string header;
  for (size_t i = 0; i < parameters.size(); ++i) {
    header += fmt::format("{}{}: {}{}", i == 0 ? "" : ", ", parameters[i].name,
                          type_text(parameters[i].type), attributes.empty() ? "" : attributes[i]);
  }
  std::string names;
  std::string types;
  for (const Value& result : results) {
    names += (names.empty() ? "" : ", ") + result.name;
    types += (types.empty() ? "" : ", ") + type_text(result.type);
  }
  return fmt::format(
      "module @cornu {{\n  func.func public @main({}) -> ({}) {{\n{}    \"func.return\"({}) : ({}) "
      "-> ()\n  }}\n}}\n",
      header, types, to.text(), names, types);
}

ProgramText lower_program(const Graph& graph, int replicas) {
  ProgramText program;
  Writer to;
  to.replicas = replicas;
  Values parameters;
  for (const ValueId id : graph.inputs) parameters.push_back(to.parameter(graph.type(id)));
  for (size_t i = 0; i < graph.states.size(); ++i) {
    parameters.push_back(to.parameter(graph.type(graph.states[i].in)));
    if (graph.states[i].out != graph.states[i].in) program.written.push_back(i);
  }
  for (const Node& node : graph.nodes) {
    program.communicates = program.communicates || node.traits().collective;
  }
  Values results = lower_graph(graph, parameters, to);
  if (to.has_status()) {
    if (replicas == 1) keep_refused(graph, parameters, program.written, results, to);
    results.push_back(to.status());
    program.refusals = to.refusals();
  }
  std::vector<std::string> attributes(parameters.size());
  for (size_t i = 0; i < program.written.size(); ++i) {
    attributes[graph.inputs.size() + program.written[i]] =
        fmt::format(" {{tf.aliasing_output = {} : i32}}", graph.outputs.size() + i);
  }
  for (const Value& result : results) program.outputs.push_back(result.type);
  program.text = module_text(to, parameters, results, attributes);
  return program;
}

const LoweringTable& lowering_table() {
  static const auto* table = [] {
    auto* made = new LoweringTable;
    register_elementwise(*made);
    register_matmul(*made);
    register_conv(*made);
    register_pooling(*made);
    register_reductions(*made);
    register_softmax(*made);
    register_shape(*made);
    register_index(*made);
    register_random(*made);
    register_attention(*made);
    register_recurrent(*made);
    register_fft(*made);
    register_linalg(*made);
    register_control(*made);
    register_collectives(*made);
    return made;
  }();
  return *table;
}

}  // namespace cornu::xla
