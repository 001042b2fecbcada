// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "framework/saving/onnx/mappings.h"

namespace cornu::onnx {
namespace {

std::string proto_name(NodeWriter& n, const char* what) {
  return n.file().unique(n.node().scope.empty() ? what : n.node().scope + "/" + what);
}

// A graph within a node, with its own inputs; it can also access outer names.
class Body {
 public:
  Body(NodeWriter& n, const char* what, const Traces& traces)
      : n_(n), traces_(traces), writer_(n.file(), traces_, proto_) {
    proto_.name = proto_name(n, what);
  }

  // Declares an input of the body and returns its name.
  std::string declare(const char* what, DType dtype, const Sizes& shape) {
    const std::string name = proto_name(n_, what);
    proto_.inputs.push_back(n_.file().declared(name, dtype, shape));
    return name;
  }
  void declare(size_t i) {
    const ValueId id = traces_.first().inputs[i];
    bind(i, declare("value", traces_.dtype(id), traces_.shape(id)));
  }
  // Names a value that the body reads from outside or has computed itself.
  void bind(size_t i, const std::string& name) { writer_.bind(traces_.first().inputs[i], name); }

  std::string add(const char* op, Names inputs, std::string attributes = {}) {
    const std::string name = proto_name(n_, op);
    proto_.nodes.push_back({op, name, std::move(inputs), {name}, std::move(attributes)});
    return name;
  }

  // Writes the nodes, then the outputs after the existing ones.
  void write() { writer_.write(Names(traces_.first().outputs.size())); }
  std::string finish(const char* attribute) const { return subgraph(attribute, proto_); }
  ProtoGraph& proto() { return proto_; }

 private:
  NodeWriter& n_;
  Traces traces_;
  ProtoGraph proto_;
  GraphWriter writer_;
};

// ---- iterations over slices ----

// Inputs are carries, then slices; the body accesses other values directly.
void write_scan_over_slices(NodeWriter& n, size_t carries, size_t xs) {
  Body body(n, "body", n.body("body"));
  const Names given = n.all_in();
  for (size_t i = 0; i < carries + xs; ++i) body.declare(i);
  for (size_t i = carries + xs; i < given.size(); ++i) body.bind(i, given[i]);
  body.write();
  const size_t outputs = n.node().outputs.size();
  const auto direction = static_cast<int64_t>(n.flag("reverse"));
  const std::string attributes =
      body.finish("body") + integer("num_scan_inputs", static_cast<int64_t>(xs)) +
      integers("scan_input_directions", std::vector<int64_t>(xs, direction)) +
      integers("scan_output_directions", std::vector<int64_t>(outputs - carries, direction));
  const Names operands(given.begin(), given.begin() + static_cast<int64_t>(carries + xs));
  n.give_all(n.add_many("Scan", operands, attributes, outputs));
}

// ---- counted iterations ----

// Declares the inputs that every loop body has, and its first output, which says whether to
// continue.
std::string begin_turn(Body& body) {
  const std::string turn = body.declare("turn", DType::Int64, {});
  body.declare("goes_on", DType::Bool, {});
  return turn;
}

void end_turn(NodeWriter& n, Body& body, const std::string& goes_on) {
  std::vector<ProtoValue>& outputs = body.proto().outputs;
  outputs.insert(outputs.begin(), n.file().declared(goes_on, DType::Bool, {}));
}

// A loop without slices, or with a computed number of iterations.
void write_counted_scan(NodeWriter& n, size_t carries, size_t xs) {
  const bool counted = n.flag("counted");
  const size_t outputs = n.node().outputs.size();
  const bool reverse = n.flag("reverse");
  if (counted && reverse && xs > 0) n.refuse("its loop goes backwards for a number of turns");
  if (counted && outputs > carries) n.refuse("its loop stacks what some of its turns give");
  Body body(n, "body", n.body("body"));
  const Names given = n.all_in();
  const std::string turn = begin_turn(body);
  for (size_t i = 0; i < carries; ++i) body.declare(i);
  for (size_t i = carries; i < carries + xs; ++i) {
    body.bind(i, body.add("Gather", {given[i], turn}, integer("axis", 0)));
  }
  for (size_t i = carries + xs; i < given.size() - (counted ? 1 : 0); ++i) body.bind(i, given[i]);
  const std::string goes_on = body.add("Identity", {body.proto().inputs[1].name});
  body.write();
  end_turn(n, body, goes_on);
  Names operands = {counted ? given.back() : n.add("Squeeze", {n.sizes({n.size("length")})}), ""};
  operands.insert(operands.end(), given.begin(), given.begin() + static_cast<int64_t>(carries));
  Names made = n.add_many("Loop", operands, body.finish("body"), outputs);
  for (size_t i = carries; reverse && i < outputs; ++i) made[i] = n.reversed(made[i], {0});
  n.give_all(made);
}

void write_scan(NodeWriter& n) {
  const auto carries = static_cast<size_t>(n.integer("carries"));
  const auto xs = static_cast<size_t>(n.integer("xs"));
  const bool counted = n.flag("counted") || xs == 0;
  (counted ? write_counted_scan : write_scan_over_slices)(n, carries, xs);
}

// Writes the condition of a while loop as nodes of `graph`.
std::string write_condition(NodeWriter& n, ProtoGraph& graph, const Names& operands) {
  const Traces condition = n.body("condition");
  GraphWriter writer(n.file(), condition, graph);
  for (size_t i = 0; i < operands.size(); ++i)
    writer.bind(condition.first().inputs[i], operands[i]);
  writer.write_nodes();
  return writer.name_of(condition.first().outputs[0]);
}

// Has carries and an iteration count, and stacks nothing.
void write_while(NodeWriter& n) {
  const auto carries = static_cast<size_t>(n.integer("carries"));
  const int64_t maximum = n.integer("maximum");
  if (n.node().outputs.size() > carries + 1 || n.graph().is_read(n.node().outputs[carries])) {
    n.refuse("its loop stacks or counts its turns");
  }
  Body body(n, "body", n.body("body"));
  Names given = n.all_in();
  begin_turn(body);
  for (size_t i = 0; i < carries; ++i) body.declare(i);
  for (size_t i = carries; i < given.size(); ++i) body.bind(i, given[i]);
  body.write();
  Names next = given;
  for (size_t i = 0; i < carries; ++i) next[i] = body.proto().outputs[i].name;
  end_turn(n, body, body.add("Identity", {write_condition(n, body.proto(), next)}));
  const std::string begins = write_condition(n, n.graph().graph(), given);
  Names operands = {maximum < 0 ? "" : n.scalar(static_cast<double>(maximum), DType::Int64),
                    begins};
  operands.insert(operands.end(), given.begin(), given.begin() + static_cast<int64_t>(carries));
  n.give_all(n.add_many("Loop", operands, body.finish("body"), carries));
}

void write_cond(NodeWriter& n) {
  const Names given = n.all_in();
  std::string attributes;
  for (const auto& [of_node, name] : {std::pair("then", "then_branch"), {"else", "else_branch"}}) {
    Body body(n, of_node, n.body(of_node));
    for (size_t i = 1; i < given.size(); ++i) body.bind(i - 1, given[i]);
    body.write();
    attributes += body.finish(name);
  }
  n.give_all(n.add_many("If", {given[0]}, attributes, n.node().outputs.size()));
}

const Mapping kOfControl[] = {
    {"cond", nullptr, write_cond},
    {"scan", nullptr, write_scan},
    {"while", nullptr, write_while},
};

}  // namespace

std::span<const Mapping> control_mappings() { return kOfControl; }

const Mapping* mapping_of(std::string_view op) {
  static const auto* const all = [] {
    auto* made = new std::map<std::string_view, const Mapping*>;
    for (const auto& family :
         {elementwise_mappings(), integer_mappings(), reduction_mappings(), shape_mappings(),
          index_mappings(), network_mappings(), control_mappings()}) {
      for (const Mapping& mapping : family) made->emplace(mapping.op, &mapping);
    }
    return made;
  }();
  const auto found = all->find(op);
  return found == all->end() ? nullptr : found->second;
}

}  // namespace cornu::onnx
