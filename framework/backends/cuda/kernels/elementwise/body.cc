// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/elementwise/body.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "framework/graph/passes/elementwise_groups.h"

namespace cornu::cuda {
namespace {

// The dtypes of operands that functions.cu has an op for.
enum class Operands : uint8_t { All, Numbers, Floats, Integers, Bool };

struct OpFunction {
  std::string_view name;
  Operands operands;
};

constexpr OpFunction kFunctions[] = {
    {"identity", Operands::All},
    {"stop_gradient", Operands::All},
    {"cast", Operands::All},
    {"exp", Operands::Floats},
    {"expm1", Operands::Floats},
    {"log", Operands::Floats},
    {"log1p", Operands::Floats},
    {"sqrt", Operands::Floats},
    {"rsqrt", Operands::Floats},
    {"reciprocal", Operands::Floats},
    {"sin", Operands::Floats},
    {"cos", Operands::Floats},
    {"tan", Operands::Floats},
    {"asin", Operands::Floats},
    {"acos", Operands::Floats},
    {"atan", Operands::Floats},
    {"sinh", Operands::Floats},
    {"cosh", Operands::Floats},
    {"tanh", Operands::Floats},
    {"erf", Operands::Floats},
    {"erfc", Operands::Floats},
    {"erf_inv", Operands::Floats},
    {"sigmoid", Operands::Floats},
    {"divide", Operands::Floats},
    {"atan2", Operands::Floats},
    {"negate", Operands::Numbers},
    {"abs", Operands::Numbers},
    {"sign", Operands::Numbers},
    {"square", Operands::Numbers},
    {"relu", Operands::Numbers},
    {"floor", Operands::Numbers},
    {"ceil", Operands::Numbers},
    {"round", Operands::Numbers},
    {"is_nan", Operands::Numbers},
    {"is_inf", Operands::Numbers},
    {"is_finite", Operands::Numbers},
    {"subtract", Operands::Numbers},
    {"floor_divide", Operands::Numbers},
    {"mod", Operands::Numbers},
    {"power", Operands::Numbers},
    {"add", Operands::All},
    {"multiply", Operands::All},
    {"maximum", Operands::All},
    {"minimum", Operands::All},
    {"bitwise_and", Operands::Integers},
    {"bitwise_or", Operands::Integers},
    {"bitwise_xor", Operands::Integers},
    {"left_shift", Operands::Integers},
    {"right_shift", Operands::Integers},
    {"logical_not", Operands::Bool},
    {"logical_and", Operands::Bool},
    {"logical_or", Operands::Bool},
    {"logical_xor", Operands::Bool},
    {"equal", Operands::All},
    {"not_equal", Operands::All},
    {"less", Operands::All},
    {"less_equal", Operands::All},
    {"greater", Operands::All},
    {"greater_equal", Operands::All},
    {"select", Operands::All},
};

bool has_function(std::string_view op, DType dtype) {
  const auto* found = std::ranges::find(kFunctions, op, &OpFunction::name);
  if (found == std::end(kFunctions)) return false;
  switch (found->operands) {
    case Operands::Numbers:
      return dtype != DType::Bool;
    case Operands::Floats:
      return is_floating(dtype);
    case Operands::Integers:
      return !is_floating(dtype) && dtype != DType::Bool;
    case Operands::Bool:
      return dtype == DType::Bool;
    default:
      return true;
  }
}

// A constant of one element, exactly, as a computed value.
std::string literal(const Tensor& value) {
  return dispatch_dtype(value.dtype(), [&]<class T>(T) -> std::string {
    const T number = value.data<T>()[0];
    if constexpr (std::is_same_v<T, bool>) {
      return number ? "true" : "false";
    } else if constexpr (std::is_same_v<T, double>) {
      return fmt::format("__longlong_as_double(0x{:x}ll)", std::bit_cast<uint64_t>(number));
    } else if constexpr (std::is_integral_v<T>) {
      return fmt::format("({})0x{:x}ull", type_name(value.dtype()),
                         static_cast<uint64_t>(static_cast<int64_t>(number)));
    } else {
      const float as_float = static_cast<float>(number);
      return fmt::format("bits_to_f32(0x{:x}u)", std::bit_cast<uint32_t>(as_float));
    }
  });
}

// To what a 16-bit float holds.
std::string rounded(DType dtype, const std::string& value) {
  return fmt::format("widen(narrow<{}>({}))", type_name(dtype), value);
}

class BodyWriter {
 public:
  // False when there is no function for the node.
  bool add(const Node& node, const Graph& graph) {
    const ValueId to = node.outputs[0];
    if (node.is("constant"))
      return declare(to, graph, literal(node.attributes.get_tensor("value")));
    const std::string& first = name(node.inputs[0]);
    if (node.is("identity") || node.is("stop_gradient")) return declare(to, graph, first);
    if (node.is("cast")) return declare(to, graph, cast(first, graph, node));
    const DType operand = graph.type(node.inputs.back()).dtype;
    if (!has_function(node.op->name, operand)) return false;
    if (const std::string simple = simple_power(node, graph); !simple.empty()) {
      return declare(to, graph, simple);
    }
    std::string call = fmt::format("op_{}(", node.op->name);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_condition = node.is("select") && i == 0;
      // Numbers of fewer than 32 bits would become int.
      call += fmt::format("{}({}){}", i > 0 ? ", " : "",
                          is_condition ? "boolean" : compute_name(operand), name(node.inputs[i]));
    }
    return declare(to, graph, call + ")");
  }

  void note_constant(const Node& node) {
    if (node.is("constant")) constants_.emplace_back(node.outputs[0], &node);
  }
  void set_name(ValueId id, std::string text) { names_.emplace_back(id, std::move(text)); }
  const std::string& name(ValueId id) const {
    return std::ranges::find(names_, id, [](const auto& entry) { return entry.first; })->second;
  }
  const std::string& text() const { return text_; }

 private:
  bool declare(ValueId id, const Graph& graph, const std::string& value) {
    std::string own = fmt::format("t{}", names_.size());
    text_ += fmt::format("  const {} {} = {};\n", compute_name(graph.type(id).dtype), own, value);
    set_name(id, std::move(own));
    return true;
  }

  static std::string cast(const std::string& from, const Graph& graph, const Node& node) {
    const DType to = graph.type(node.outputs[0]).dtype;
    const std::string value = fmt::format("convert<{}>(({}){})", compute_name(to),
                                          compute_name(graph.type(node.inputs[0]).dtype), from);
    return is_half(to) ? rounded(to, value) : value;
  }

  // A power with a constant exponent of 1, 2 or -1; else empty.
  std::string simple_power(const Node& node, const Graph& graph) const {
    if (!node.is("power") || !is_floating(graph.type(node.inputs[1]).dtype)) return {};
    const auto constant = std::ranges::find(constants_, node.inputs[1],
                                            [](const auto& entry) { return entry.first; });
    if (constant == constants_.end()) return {};
    const Tensor& exponent = constant->second->attributes.get_tensor("value");
    if (exponent.num_elements() != 1) return {};
    const auto value = exponent.item<double>();
    const std::string& base = name(node.inputs[0]);
    if (value == 1) return base;
    if (value == 2) return fmt::format("op_square({})", base);
    if (value == -1) return fmt::format("op_reciprocal({})", base);
    return {};
  }

  std::vector<std::pair<ValueId, std::string>> names_;
  std::vector<std::pair<ValueId, const Node*>> constants_;
  std::string text_;
};

// The graph of a single op.
Graph graph_of(const KernelSpec& spec) {
  Graph graph;
  for (const TensorType& type : spec.inputs) graph.inputs.push_back(graph.add_value(type));
  Node node{.op = &spec.op,
            .inputs = graph.inputs,
            .outputs = {graph.add_value(spec.outputs[0])},
            .attributes = spec.attributes,
            .scope = {}};
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

// The shape that all arrays have; none where they differ.
std::optional<Shape> shape_of(const ElementwiseBody& body, const Graph& graph,
                              const std::vector<const Node*>& sums) {
  std::optional<Shape> shape;
  const auto same = [&](const Shape& other) {
    if (!shape) shape = other;
    return *shape == other;
  };
  for (const Node* node : sums) {
    if (node && !same(graph.type(node->inputs[0]).shape)) return std::nullopt;
  }
  for (const size_t index : body.arrays) {
    if (!same(graph.type(graph.outputs[index]).shape)) return std::nullopt;
  }
  return shape;
}

// "void body(f32 x0, bf16& y0, f32& s0)"
std::string signature(const ElementwiseBody& body) {
  std::string text = "__device__ __forceinline__ void body(";
  const char* separator = "";
  const auto add = [&](const std::string& type, const char* mark, char letter, size_t index) {
    text += fmt::format("{}{}{} {}{}", separator, type, mark, letter, index);
    separator = ", ";
  };
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    add(compute_name(body.inputs[i].dtype), "", 'x', i);
  }
  for (size_t i = 0; i < body.arrays.size(); ++i) add(type_name(body.array_types[i]), "&", 'y', i);
  for (size_t i = 0; i < body.sums.size(); ++i) add(compute_name(body.sums[i].dtype), "&", 's', i);
  return text + ") {\n";
}

std::optional<ElementwiseBody> body_of(const Graph& graph) {
  ElementwiseBody body;
  BodyWriter writer;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    body.inputs.push_back(graph.type(graph.inputs[i]));
    writer.set_name(graph.inputs[i], fmt::format("x{}", i));
  }
  std::vector<const Node*> sum_of(graph.types.size(), nullptr);
  for (const Node& node : graph.nodes) {
    writer.note_constant(node);
    if (node.is("reduce_sum")) {
      sum_of[static_cast<size_t>(node.outputs[0])] = &node;
    } else if (!writer.add(node, graph)) {
      return std::nullopt;
    }
  }
  std::string results;
  std::vector<const Node*> sums;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId id = graph.outputs[i];
    const DType dtype = graph.type(id).dtype;
    const Node* sum = sum_of[static_cast<size_t>(id)];
    sums.push_back(sum);
    if (sum) {
      const auto columns = passes::summed_columns(graph.type(sum->inputs[0]).shape,
                                                  sum->attributes.get_ints("axes"));
      if (!columns || !is_floating(dtype)) return std::nullopt;
      const std::string& value = writer.name(sum->inputs[0]);
      results += fmt::format("  s{} = {};\n", body.sums.size(),
                             is_half(dtype) ? rounded(dtype, value) : value);
      body.sums.push_back({i, *columns, dtype});
    } else {
      results += fmt::format("  y{} = narrow<{}>({});\n", body.arrays.size(), type_name(dtype),
                             writer.name(id));
      body.arrays.push_back(i);
      body.array_types.push_back(dtype);
    }
  }
  const std::optional<Shape> shape = shape_of(body, graph, sums);
  if (!shape) return std::nullopt;
  body.shape = *shape;
  body.text = signature(body) + writer.text() + results + "}\n";
  return body;
}

}  // namespace

std::vector<std::string_view> elementwise_ops() {
  std::vector<std::string_view> names;
  for (const OpFunction& function : kFunctions) names.push_back(function.name);
  return names;
}

int64_t ElementwiseBody::columns() const {
  int64_t most = 1;
  for (const Sum& sum : sums) most = std::max(most, sum.columns);
  return most;
}

std::string body_name(const KernelSpec& spec) {
  if (spec.op.name != "fused") return spec.op.name;
  constexpr size_t kLongest = 48;
  std::string name = "fused";
  for (const Node& node : spec.attributes.get_graph("body").nodes) {
    if (!node.is("constant") && name.size() < kLongest) name += "_" + node.op->name;
  }
  return name;
}

std::optional<ElementwiseBody> elementwise_body(const KernelSpec& spec) {
  return body_of(spec.op.name == "fused" ? spec.attributes.get_graph("body") : graph_of(spec));
}

}  // namespace cornu::cuda
