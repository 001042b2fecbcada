// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/graph_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "framework/saving/onnx/mappings.h"

namespace cornu::onnx {
namespace {

bool same_value(const Tensor& a, const Tensor& b) {
  if (a.id() == b.id()) return true;
  if (a.shape() != b.shape()) return false;
  return a.num_elements() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

double first_element(const Tensor& x) {
  double value = 0;
  dispatch_dtype(x.dtype(),
                 [&](auto zero) { value = static_cast<double>(x.data<decltype(zero)>()[0]); });
  return value;
}

// If all elements of a tensor are equal, returns one of them as a scalar.
std::optional<Tensor> filled_with(const Tensor& x) {
  if (x.num_elements() == 0) return std::nullopt;
  const size_t width = size_of(x.dtype());
  const std::byte* bytes = x.raw();
  for (size_t at = width; at < x.bytes(); at += width) {
    if (std::memcmp(bytes, bytes + at, width) != 0) return std::nullopt;
  }
  Tensor scalar = Tensor::empty({}, x.dtype());
  std::memcpy(scalar.mutable_raw(), bytes, width);
  return scalar;
}

using NumberInTraces = std::array<double, kTraces>;

// The numbers as a size, if they are integers.
std::optional<Size> size_of_numbers(const NumberInTraces& numbers) {
  Size size;
  for (size_t i = 0; i < kTraces; ++i) {
    const double whole = std::round(numbers[i]);
    const bool is_whole = std::abs(numbers[i] - whole) <= 1e-6 * std::abs(whole);
    if (!is_whole || std::abs(whole) > 1e15) return std::nullopt;
    size.by_trace[i] = static_cast<int64_t>(whole);
  }
  return size;
}

// A function of sizes that programs compute before they compute with tensors.
struct OfSize {
  double (*size)(double number);       // what it is a function of
  std::vector<const char*> operators;  // that compute it
};

const std::vector<OfSize>& functions_of_sizes() {
  static const std::vector<OfSize> functions = {
      {[](double x) { return x; }, {}},
      {[](double x) { return 1 / x; }, {"Reciprocal"}},
      {[](double x) { return x > 0 ? x * x : 0.5; }, {"Sqrt"}},
      {[](double x) { return x > 0 ? 1 / (x * x) : 0.5; }, {"Sqrt", "Reciprocal"}},
  };
  return functions;
}

}  // namespace

GraphWriter::GraphWriter(FileWriter& file, const Traces& traces, ProtoGraph& graph)
    : file_(file),
      traces_(traces),
      graph_(graph),
      names_(traces.first().types.size()),
      wanted_(traces.first().types.size()),
      producers_(traces.first().producers()),
      uses_(traces.first().use_counts()) {}

const std::string& GraphWriter::name_of(ValueId id) {
  std::string& name = names_[static_cast<size_t>(id)];
  if (name.empty()) {
    const int32_t producer = producers_[static_cast<size_t>(id)];
    CORNU_ASSERT(producer, >=, 0);
    CORNU_ASSERT(traces_.node(static_cast<size_t>(producer)).op->name, ==, "constant");
    name = write_constant(static_cast<size_t>(producer));
  }
  return name;
}

std::optional<Tensor> GraphWriter::constant(ValueId id) const {
  const int32_t producer = producers_[static_cast<size_t>(id)];
  if (producer < 0 || !traces_.node(static_cast<size_t>(producer)).is("constant")) {
    return std::nullopt;
  }
  const auto values = traces_.constant(static_cast<size_t>(producer));
  if (!same_value(values[0], values[1]) || !same_value(values[0], values[2])) return std::nullopt;
  return values[0];
}

const Node* GraphWriter::only_read_from(ValueId id) const {
  const int32_t producer = producers_[static_cast<size_t>(id)];
  if (producer < 0 || uses_[static_cast<size_t>(id)] != 1) return nullptr;
  return &traces_.node(static_cast<size_t>(producer));
}

ProtoNode& GraphWriter::written_node(const std::string& output) {
  const auto found =
      std::find_if(graph_.nodes.rbegin(), graph_.nodes.rend(),
                   [&](const ProtoNode& node) { return node.outputs.front() == output; });
  CORNU_ASSERT(found == graph_.nodes.rend(), ==, false);
  return *found;
}

std::string GraphWriter::write_constant(size_t index) {
  const Node& node = traces_.node(index);
  const std::string wanted = node.scope.empty() ? "constant" : node.scope + "/constant";
  if (const auto value = constant(node.outputs[0])) return file_.constant(*value, wanted);
  return of_open_axes(index);
}

// A constant that depends on sizes.
std::string GraphWriter::of_open_axes(size_t index) {
  if (std::string name = of_sizes(index); !name.empty()) return name;
  if (std::string name = of_origin(index); !name.empty()) return name;
  const auto values = traces_.constant(index);
  const std::string where = NodeWriter(*this, index).where();
  if (!filled_with(values[0])) refuse_open_axes(where, "a constant has other elements");
  refuse_open_axes(where, fmt::format("a number of {} becomes {}", first_element(values[0]),
                                      first_element(values[1])));
}

// For a tensor of equal elements that are a size, the reciprocal of a size, or the root of either.
// Otherwise returns "".
std::string GraphWriter::of_sizes(size_t index) {
  NodeWriter writer(*this, index);
  const auto values = traces_.constant(index);
  const DType dtype = values[0].dtype();
  const Sizes shape = writer.out_shape();
  NumberInTraces numbers = {};
  for (size_t i = 0; i < kTraces; ++i) {
    const auto fill = filled_with(values[i]);
    if (!fill) return "";
    numbers[i] = first_element(*fill);
  }
  std::string scalar;
  if (numbers[0] == numbers[1] && numbers[0] == numbers[2]) {
    scalar = file_.constant(*filled_with(values[0]));
  }
  for (const OfSize& function : functions_of_sizes()) {
    if (!scalar.empty() || (!is_floating(dtype) && !function.operators.empty())) break;
    NumberInTraces sizes = {};
    std::ranges::transform(numbers, sizes.begin(), function.size);
    const auto size = size_of_numbers(sizes);
    if (!size || !file_.can_write(*size)) continue;
    scalar = writer.cast(writer.sizes({*size}), DType::Int64, dtype);
    for (const char* op : function.operators) scalar = writer.add(op, {scalar});
  }
  if (scalar.empty()) return "";
  if (all_fixed(shape)) return writer.add("Reshape", {scalar, file_.integers(values_of(shape))});
  return writer.add("Expand", {scalar, writer.sizes(shape)});
}

// For a constant that one op has computed from others, a part of a weight for one: writes the op.
// Otherwise returns "".
std::string GraphWriter::of_origin(size_t index) {
  const auto values = traces_.constant(index);
  std::array<Graph, kTraces> graphs;
  std::array<const Graph*, kTraces> all = {};
  for (size_t i = 0; i < kTraces; ++i) {
    const NamedConstants::Origin* origin = file_.constants().origin_of(values[i]);
    if (!origin || !mapping_of(origin->op->name)) return "";
    static const OpDef& constant = OpRegistry::global().at("constant");
    const std::string& scope = traces_.node(index).scope;
    Node made = {.op = origin->op,
                 .inputs = {},
                 .outputs = {},
                 .attributes = origin->attributes,
                 .scope = scope};
    for (const Tensor& input : origin->inputs) {
      const ValueId id = graphs[i].add_value(type_of(input));
      graphs[i].nodes.push_back({.op = &constant,
                                 .inputs = {},
                                 .outputs = {id},
                                 .attributes = {{"value", input}},
                                 .scope = scope});
      made.inputs.push_back(id);
    }
    made.outputs = {graphs[i].add_value(type_of(values[i]))};
    graphs[i].outputs = made.outputs;
    graphs[i].nodes.push_back(std::move(made));
    all[i] = &graphs[i];
  }
  GraphWriter writer(file_, Traces(all), graph_);
  writer.write_nodes();
  return writer.name_of(graphs[0].outputs[0]);
}

void GraphWriter::write_node(size_t index) {
  const Node& node = traces_.node(index);
  if (node.is("constant")) return;  // written where it is read
  NodeWriter writer(*this, index);
  const Mapping* mapping = mapping_of(node.op->name);
  if (!mapping) writer.refuse("no operator of ONNX is known for it");
  if (mapping->same_as) {
    writer.give(writer.add(mapping->same_as, writer.all_in()));
  } else {
    mapping->write(writer);
  }
  if (&graph_ != &file_.graph()) return;
  for (const ValueId id : node.outputs) {
    const std::string& name = names_[static_cast<size_t>(id)];
    if (!name.empty()) file_.know(name, traces_.shape(id));
  }
}

void GraphWriter::write(const Names& output_names) {
  const std::vector<ValueId>& outputs = traces_.first().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string& wanted = wanted_[static_cast<size_t>(outputs[i])];
    if (wanted.empty()) wanted = output_names[i];
  }
  write_nodes();
  for (size_t i = 0; i < outputs.size(); ++i) add_output(outputs[i], output_names[i]);
}

void GraphWriter::write_nodes() {
  for (size_t i = 0; i < traces_.first().nodes.size(); ++i) write_node(i);
}

// Copies a value that isn't computed by a node of this graph or is already an output.
void GraphWriter::add_output(ValueId id, const std::string& wanted) {
  std::string name = name_of(id);
  const bool own = std::ranges::any_of(graph_.nodes, [&](const ProtoNode& node) {
    return std::ranges::find(node.outputs, name) != node.outputs.end();
  });
  const bool taken =
      std::ranges::find(graph_.outputs, name, &ProtoValue::name) != graph_.outputs.end();
  if (!own || taken || (!wanted.empty() && name != wanted)) {
    const std::string copy = wanted.empty() ? file_.unique(name) : wanted;
    graph_.nodes.push_back({"Identity", copy, {name}, {copy}, {}});
    name = copy;
  }
  graph_.outputs.push_back(file_.declared(name, traces_.dtype(id), traces_.shape(id)));
}

// ---- nodes ----

std::string NodeWriter::where() const {
  return node_.scope.empty() ? fmt::format("op '{}'", node_.op->name)
                             : fmt::format("layer '{}', op '{}'", node_.scope, node_.op->name);
}

Names NodeWriter::all_in() {
  Names names;
  for (const ValueId id : node_.inputs) names.push_back(graph_.name_of(id));
  return names;
}

int64_t NodeWriter::integer(std::string_view name) const {
  const Size size = graph_.traces().integer(index_, name);
  if (!size.fixed()) {
    refuse_open_axes(where(),
                     fmt::format("{} is {} or {}", name, size.by_trace[0], size.by_trace[1]));
  }
  return size.value();
}

std::vector<int64_t> NodeWriter::fixed(std::string_view name) const {
  const Sizes sizes = integers(name);
  if (!all_fixed(sizes)) refuse_open_axes(where(), fmt::format("{} isn't always the same", name));
  return values_of(sizes);
}

Names NodeWriter::add_many(const std::string& op, Names inputs, std::string attributes,
                           size_t outputs) {
  const std::string wanted = node_.scope.empty() ? op : node_.scope + "/" + op;
  Names names;
  for (size_t i = 0; i < outputs; ++i) names.push_back(file().unique(wanted));
  graph_.graph_.nodes.push_back(
      {op, names.front(), std::move(inputs), names, std::move(attributes)});
  return names;
}

std::string NodeWriter::add(const std::string& op, Names inputs, std::string attributes) {
  return add_many(op, std::move(inputs), std::move(attributes), 1).front();
}

std::string NodeWriter::cast(const std::string& value, DType from, DType to) {
  if (from == to) return value;
  return add("Cast", {value}, onnx::integer("to", data_type(to)));
}

std::string NodeWriter::transpose(const std::string& value, const std::vector<int64_t>& order) {
  return add("Transpose", {value}, onnx::integers("perm", order));
}

std::string NodeWriter::reversed(const std::string& value, const std::vector<int64_t>& axes) {
  constexpr int64_t kBeforeFirst = -std::numeric_limits<int64_t>::max();
  const std::string last = file().integers(std::vector<int64_t>(axes.size(), -1));
  const std::string end = file().integers(std::vector<int64_t>(axes.size(), kBeforeFirst));
  return add("Slice", {value, last, end, file().integers(axes), last});
}

std::string NodeWriter::transposed(size_t i, const std::vector<int64_t>& order) {
  const auto value = constant(i);
  if (!value) return transpose(in(i), order);
  static const OpDef& op = OpRegistry::global().at("transpose");
  return file().constant(file().constants().derived(op, {*value}, {{"permutation", order}}),
                         node_.scope + "/constant");
}

std::string NodeWriter::scalar(double value, DType dtype) {
  Tensor scalar = Tensor::empty({}, dtype);
  dispatch_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      scalar.mutable_data<T>()[0] = T(static_cast<float>(value));
    } else {
      scalar.mutable_data<T>()[0] = static_cast<T>(value);
    }
  });
  return file().constant(scalar, "scalar");
}

void NodeWriter::give(const std::string& name, size_t output) {
  const auto id = static_cast<size_t>(node_.outputs[output]);
  std::string given = name;
  std::vector<ProtoNode>& nodes = graph_.graph_.nodes;
  if (const std::string& wanted = graph_.wanted_[id]; !wanted.empty() && !nodes.empty()) {
    // The last node added, if its output hasn't been used yet.
    Names& outputs = nodes.back().outputs;
    const auto own = std::ranges::find(outputs, name);
    const bool known = std::ranges::find(graph_.names_, name) != graph_.names_.end();
    if (own != outputs.end() && !known) *own = given = wanted;
  }
  graph_.names_[id] = given;
}

void NodeWriter::give_all(const Names& names) {
  for (size_t i = 0; i < names.size(); ++i) give(names[i], i);
}

void NodeWriter::refuse(std::string_view why) const {
  raise<Unimplemented>(
      "ONNX: {} can't be exported: {}. Export a model that ends before it, or that has another "
      "layer in its place.",
      where(), why);
}

}  // namespace cornu::onnx
