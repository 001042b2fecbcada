// SPDX-License-Identifier: Apache-2.0
#include "framework/train/op_layers.h"

#include <functional>
#include <map>
#include <utility>

#include "framework/core/strings.h"
#include "framework/ops/ops.h"

namespace cornu {
namespace {

// ---- to files ----

struct KerasOp {
  const char* module;  // of keras.src.ops
  const char* class_name;
};

const std::map<std::string, KerasOp, std::less<>>& keras_ops() {
  static const std::map<std::string, KerasOp, std::less<>> table = {
      {"abs", {"numpy", "Absolute"}},
      {"acos", {"numpy", "Arccos"}},
      {"add", {"numpy", "Add"}},
      {"asin", {"numpy", "Arcsin"}},
      {"atan", {"numpy", "Arctan"}},
      {"atan2", {"numpy", "Arctan2"}},
      {"broadcast_to", {"numpy", "BroadcastTo"}},
      {"cast", {"core", "Cast"}},
      {"ceil", {"numpy", "Ceil"}},
      {"concatenate", {"numpy", "Concatenate"}},
      {"cos", {"numpy", "Cos"}},
      {"cosh", {"numpy", "Cosh"}},
      {"divide", {"numpy", "TrueDivide"}},
      {"equal", {"numpy", "Equal"}},
      {"erf", {"math", "Erf"}},
      {"erf_inv", {"math", "Erfinv"}},
      {"exp", {"numpy", "Exp"}},
      {"expm1", {"numpy", "Expm1"}},
      {"floor", {"numpy", "Floor"}},
      {"floor_divide", {"numpy", "FloorDivide"}},
      {"greater", {"numpy", "Greater"}},
      {"greater_equal", {"numpy", "GreaterEqual"}},
      {"is_finite", {"numpy", "Isfinite"}},
      {"is_inf", {"numpy", "Isinf"}},
      {"is_nan", {"numpy", "Isnan"}},
      {"less", {"numpy", "Less"}},
      {"less_equal", {"numpy", "LessEqual"}},
      {"log", {"numpy", "Log"}},
      {"log1p", {"numpy", "Log1p"}},
      {"log_softmax", {"nn", "LogSoftmax"}},
      {"logical_and", {"numpy", "LogicalAnd"}},
      {"logical_not", {"numpy", "LogicalNot"}},
      {"logical_or", {"numpy", "LogicalOr"}},
      {"logical_xor", {"numpy", "LogicalXor"}},
      {"maximum", {"numpy", "Maximum"}},
      {"minimum", {"numpy", "Minimum"}},
      {"mod", {"numpy", "Mod"}},
      {"multiply", {"numpy", "Multiply"}},
      {"negate", {"numpy", "Negative"}},
      {"not_equal", {"numpy", "NotEqual"}},
      {"power", {"numpy", "Power"}},
      {"reciprocal", {"numpy", "Reciprocal"}},
      {"reduce_max", {"numpy", "Max"}},
      {"reduce_min", {"numpy", "Min"}},
      {"reduce_prod", {"numpy", "Prod"}},
      {"reduce_sum", {"numpy", "Sum"}},
      {"relu", {"nn", "Relu"}},
      {"reshape", {"numpy", "Reshape"}},
      {"round", {"numpy", "Round"}},
      {"rsqrt", {"math", "Rsqrt"}},
      {"select", {"numpy", "Where"}},
      {"sigmoid", {"nn", "Sigmoid"}},
      {"sign", {"numpy", "Sign"}},
      {"sin", {"numpy", "Sin"}},
      {"sinh", {"numpy", "Sinh"}},
      {"softmax", {"nn", "Softmax"}},
      {"sqrt", {"numpy", "Sqrt"}},
      {"square", {"numpy", "Square"}},
      {"stop_gradient", {"core", "StopGradient"}},
      {"subtract", {"numpy", "Subtract"}},
      {"tan", {"numpy", "Tan"}},
      {"tanh", {"numpy", "Tanh"}},
      {"transpose", {"numpy", "Transpose"}},
  };
  return table;
}

// What Keras calls an attribute of ours.
std::string keras_key(const std::string& op, const std::string& attribute) {
  if (op == "reshape" && attribute == "shape") return "newshape";
  if (op == "transpose" && attribute == "permutation") return "axes";
  return attribute == "axes" ? "axis" : attribute;
}

Json keras_value(const OpLayer& layer, const AttributeValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) return *numbers;
  if (const auto* dtype = std::get_if<DType>(&value)) return to_string(*dtype);
  raise<Unimplemented>("op '{}' of '{}' can't be saved: it holds a tensor or a graph.",
                       layer.op().name, layer.name());
}

// ---- from files ----

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Operands = std::vector<Tensor>;
using WithConfig = std::function<Tensors(const Operands&, const Json& config)>;

const std::map<std::string, Unary, std::less<>>& unary_ops() {
  static const std::map<std::string, Unary, std::less<>> table = {
      {"Abs", ops::abs},
      {"Absolute", ops::absolute},
      {"Arccos", ops::arccos},
      {"Arcsin", ops::arcsin},
      {"Arctan", ops::arctan},
      {"Ceil", ops::ceil},
      {"Cos", ops::cos},
      {"Cosh", ops::cosh},
      {"Erf", ops::erf},
      {"Erfinv", ops::erfinv},
      {"Exp", ops::exp},
      {"Expm1", ops::expm1},
      {"Floor", ops::floor},
      {"HardSigmoid", ops::hard_sigmoid},
      {"HardSilu", ops::hard_silu},
      {"HardTanh", ops::hard_tanh},
      {"Isfinite", ops::isfinite},
      {"Isinf", ops::isinf},
      {"Isnan", ops::isnan},
      {"Log", ops::log},
      {"Log10", ops::log10},
      {"Log1p", ops::log1p},
      {"Log2", ops::log2},
      {"LogSigmoid", ops::log_sigmoid},
      {"LogicalNot", ops::logical_not},
      {"Mish", ops::mish},
      {"Negative", ops::negative},
      {"Ravel", ops::ravel},
      {"Reciprocal", ops::reciprocal},
      {"Relu", ops::relu},
      {"Relu6", ops::relu6},
      {"Rsqrt", ops::rsqrt},
      {"Selu", ops::selu},
      {"Sigmoid", ops::sigmoid},
      {"Sign", ops::sign},
      {"Silu", ops::silu},
      {"Sin", ops::sin},
      {"Sinh", ops::sinh},
      {"Softplus", ops::softplus},
      {"Softsign", ops::softsign},
      {"Sqrt", ops::sqrt},
      {"Square", ops::square},
      {"StopGradient", ops::stop_gradient},
      {"Tan", ops::tan},
      {"Tanh", ops::tanh},
      {"TanhShrink", ops::tanh_shrink},
  };
  return table;
}

const std::map<std::string, Binary, std::less<>>& binary_ops() {
  static const std::map<std::string, Binary, std::less<>> table = {
      {"Add", ops::add},
      {"Arctan2", ops::arctan2},
      {"Divide", ops::divide},
      {"DivideNoNan", ops::divide_no_nan},
      {"Equal", ops::equal},
      {"FloorDivide", ops::floor_divide},
      {"Greater", ops::greater},
      {"GreaterEqual", ops::greater_equal},
      {"Less", ops::less},
      {"LessEqual", ops::less_equal},
      {"Logaddexp", ops::logaddexp},
      {"LogicalAnd", ops::logical_and},
      {"LogicalOr", ops::logical_or},
      {"LogicalXor", ops::logical_xor},
      {"Matmul", [](const Tensor& a, const Tensor& b) { return ops::matmul(a, b); }},
      {"Maximum", ops::maximum},
      {"Minimum", ops::minimum},
      {"Mod", ops::mod},
      {"Multiply", ops::multiply},
      {"NotEqual", ops::not_equal},
      {"Power", ops::power},
      {"Subtract", ops::subtract},
      {"TrueDivide", ops::true_divide},
  };
  return table;
}

const Json* given(const Json& config, const char* key) {
  const Json* value = config.find(key);
  return value && !value->is_null() ? value : nullptr;
}

Axes axes_of(const Json& config) {
  const Json* axis = given(config, "axis");
  if (!axis) return {};
  return axis->is_array() ? Axes(axis->as_ints()) : Axes(axis->as_int());
}
int64_t int_of(const Json& config, const char* key, int64_t otherwise) {
  const Json* value = given(config, key);
  return value ? value->as_int() : otherwise;
}
double double_of(const Json& config, const char* key, double otherwise) {
  const Json* value = given(config, key);
  return value ? value->as_double() : otherwise;
}
bool bool_of(const Json& config, const char* key, bool otherwise) {
  const Json* value = given(config, key);
  return value ? value->as_bool() : otherwise;
}

template <Tensor (*kReduce)(const Tensor&, const Axes&, bool)>
Tensors reduce(const Operands& x, const Json& config) {
  return kReduce(x.at(0), axes_of(config), bool_of(config, "keepdims", false));
}
template <Tensor (*kAlong)(const Tensor&, int64_t)>
Tensors along_axis(const Operands& x, const Json& config) {
  return kAlong(x.at(0), int_of(config, "axis", -1));
}

const std::map<std::string, WithConfig, std::less<>>& configured_ops() {
  using C = const Json&;
  using X = const Operands&;
  static const std::map<std::string, WithConfig, std::less<>> table = {
      {"All", reduce<ops::all>},
      {"Any", reduce<ops::any>},
      {"Max", reduce<ops::max>},
      {"Mean", reduce<ops::mean>},
      {"Min", reduce<ops::min>},
      {"Prod", reduce<ops::prod>},
      {"Std", reduce<ops::std>},
      {"Sum", reduce<ops::sum>},
      {"Var", reduce<ops::var>},
      {"LogSoftmax", along_axis<ops::log_softmax>},
      {"Softmax", along_axis<ops::softmax>},
      {"BroadcastTo",
       [](X x, C c) -> Tensors { return ops::broadcast_to(x.at(0), c.at("shape").as_shape()); }},
      {"Cast",
       [](X x, C c) -> Tensors {
         return ops::cast(x.at(0), dtype_from_string(c.at("dtype").as_string()));
       }},
      {"Clip",
       [](X x, C c) -> Tensors {
         return ops::clip(x.at(0), c.at("x_min").as_double(), c.at("x_max").as_double());
       }},
      {"Concatenate",
       [](X x, C c) -> Tensors { return ops::concatenate(x, int_of(c, "axis", -1)); }},
      {"Elu", [](X x, C c) -> Tensors { return ops::elu(x.at(0), double_of(c, "alpha", 1)); }},
      {"ExpandDims", [](X x, C c) -> Tensors { return ops::expand_dims(x.at(0), axes_of(c)); }},
      {"Gelu",
       [](X x, C c) -> Tensors { return ops::gelu(x.at(0), bool_of(c, "approximate", true)); }},
      {"LeakyRelu",
       [](X x, C c) -> Tensors {
         return ops::leaky_relu(x.at(0), double_of(c, "negative_slope", 0.2));
       }},
      {"Reshape",
       [](X x, C c) -> Tensors { return ops::reshape(x.at(0), c.at("newshape").as_shape()); }},
      {"Round",
       [](X x, C c) -> Tensors {
         check<Unimplemented>(int_of(c, "decimals", 0) == 0, "op 'Round': expected no decimals.");
         return ops::round(x.at(0));
       }},
      {"Squeeze", [](X x, C c) -> Tensors { return ops::squeeze(x.at(0), axes_of(c)); }},
      {"Stack", [](X x, C c) -> Tensors { return ops::stack(x, int_of(c, "axis", 0)); }},
      {"Transpose",
       [](X x, C c) -> Tensors {
         const Json* axes = given(c, "axes");
         return ops::transpose(x.at(0), axes ? axes->as_ints() : std::vector<int64_t>());
       }},
      {"Where", [](X x, C) -> Tensors { return ops::where(x.at(0), x.at(1), x.at(2)); }},
  };
  return table;
}

void require_operands(const std::string& class_name, const Operands& operands, size_t count) {
  check<InvalidArgument>(operands.size() == count, "op '{}': expected {} operands, got {}.",
                         class_name, count, operands.size());
}

}  // namespace

Json serialize_op(const OpLayer& layer) {
  const std::string& op = layer.op().name;
  const auto entry = keras_ops().find(op);
  const bool transposes = op == "matmul" && (layer.attributes().get_bool("transpose_a") ||
                                             layer.attributes().get_bool("transpose_b"));
  const bool known = entry != keras_ops().end() || (op == "matmul" && !transposes);
  check<Unimplemented>(known,
                       "op '{}', applied to placeholders as '{}', can't be saved: Keras has no "
                       "such op. Put it into a layer, or save the weights alone (save_weights).",
                       op, layer.name());
  KerasOp keras = op == "matmul" ? KerasOp{"numpy", "Matmul"} : entry->second;
  const bool extreme = op == "reduce_max" || op == "reduce_min";
  if (extreme && layer.output()[0].dtype() == DType::Bool) {
    keras.class_name = op == "reduce_max" ? "Any" : "All";
  }
  Json config = Json::object({{"name", layer.name()}});
  if (op != "matmul") {
    for (const auto& [key, value] : layer.attributes().entries()) {
      config.set(keras_key(op, key), keras_value(layer, value));
    }
  }
  return Json::object({{"module", std::string("keras.src.ops.") + keras.module},
                       {"class_name", keras.class_name},
                       {"config", std::move(config)},
                       {"registered_name", keras.class_name}});
}

Tensors apply_keras_op(const std::string& class_name, const Json& config,
                       const std::vector<Tensor>& operands) {
  if (const auto it = unary_ops().find(class_name); it != unary_ops().end()) {
    require_operands(class_name, operands, 1);
    return it->second(operands[0]);
  }
  if (const auto it = binary_ops().find(class_name); it != binary_ops().end()) {
    require_operands(class_name, operands, 2);
    return it->second(operands[0], operands[1]);
  }
  if (const auto it = configured_ops().find(class_name); it != configured_ops().end()) {
    check<InvalidArgument>(operands.size() >= (class_name == "Where" ? 3u : 1u),
                           "op '{}': it lacks operands.", class_name);
    return it->second(operands, config);
  }
  std::vector<std::string> known;
  for (const auto& entry : unary_ops()) known.push_back(entry.first);
  for (const auto& entry : binary_ops()) known.push_back(entry.first);
  for (const auto& entry : configured_ops()) known.push_back(entry.first);
  raise<Unimplemented>("The op '{}' isn't implemented for models in files.{}", class_name,
                       did_you_mean(class_name, known));
}

}  // namespace cornu
