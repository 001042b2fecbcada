// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/elementwise/body_writer.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace cornu::cuda {
namespace {

// The operand dtypes for which functions.cu implements an op.
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
    {"exp2", Operands::Floats},
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

// The exact value of a one-element constant, as a computed value.
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

std::string cast_of(const std::string& from, const Graph& graph, const Node& node) {
  const DType to = graph.type(node.outputs[0]).dtype;
  const std::string value = fmt::format("convert<{}>(({}){})", compute_name(to),
                                        compute_name(graph.type(node.inputs[0]).dtype), from);
  return is_half(to) ? rounded(to, value) : value;
}

}  // namespace

std::string rounded(DType dtype, const std::string& value) {
  return fmt::format("widen(narrow<{}>({}))", type_name(dtype), value);
}

std::vector<std::string_view> elementwise_ops() {
  std::vector<std::string_view> names;
  for (const OpFunction& function : kFunctions) names.push_back(function.name);
  return names;
}

bool BodyWriter::add(const Node& node, const Graph& graph) {
  const ValueId to = node.outputs[0];
  if (node.is("constant")) return declare(to, graph, literal(node.attributes.get_tensor("value")));
  const std::string& first = name(node.inputs[0]);
  if (node.is("identity") || node.is("stop_gradient")) return declare(to, graph, first);
  if (node.is("cast")) return declare(to, graph, cast_of(first, graph, node));
  const DType operand = graph.type(node.inputs.back()).dtype;
  if (!has_function(node.op->name, operand)) return false;
  if (const std::string simple = simple_power(node, graph); !simple.empty()) {
    return declare(to, graph, simple);
  }
  std::string call = fmt::format("op_{}(", node.op->name);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_condition = node.is("select") && i == 0;
    // Numbers of fewer than 32 bits would be promoted to int.
    call += fmt::format("{}({}){}", i > 0 ? ", " : "",
                        is_condition ? "boolean" : compute_name(operand), name(node.inputs[i]));
  }
  return declare(to, graph, call + ")");
}

const std::string& BodyWriter::name(ValueId id) const {
  return std::ranges::find(names_, id, [](const auto& entry) { return entry.first; })->second;
}

bool BodyWriter::declare(ValueId id, const Graph& graph, const std::string& value) {
  std::string own = fmt::format("t{}", names_.size());
  text_ += fmt::format("  const {} {} = {};\n", compute_name(graph.type(id).dtype), own, value);
  set_name(id, std::move(own));
  return true;
}

// A power with a constant exponent of 1, 2 or -1; otherwise empty.
std::string BodyWriter::simple_power(const Node& node, const Graph& graph) const {
  if (!node.is("power") || !is_floating(graph.type(node.inputs[1]).dtype)) return {};
  const auto constant =
      std::ranges::find(constants_, node.inputs[1], [](const auto& entry) { return entry.first; });
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

}  // namespace cornu::cuda
