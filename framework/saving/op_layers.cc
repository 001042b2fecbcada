// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/op_layers.h"

#include <map>
#include <utility>

namespace cornu {
namespace {

// ---- to files ----

// Keras's classes, by op.
const std::map<std::string, const char*, std::less<>>& keras_classes() {
  static const std::map<std::string, const char*, std::less<>> table = {
      {"abs", "Absolute"},
      {"acos", "Arccos"},
      {"add", "Add"},
      {"argmax", "Argmax"},
      {"argmin", "Argmin"},
      {"argsort", "Argsort"},
      {"asin", "Arcsin"},
      {"atan", "Arctan"},
      {"atan2", "Arctan2"},
      {"broadcast_to", "BroadcastTo"},
      {"cast", "Cast"},
      {"ceil", "Ceil"},
      {"concatenate", "Concatenate"},
      {"cos", "Cos"},
      {"cosh", "Cosh"},
      {"cumsum", "Cumsum"},
      {"divide", "TrueDivide"},
      {"equal", "Equal"},
      {"erf", "Erf"},
      {"erf_inv", "Erfinv"},
      {"exp", "Exp"},
      {"exp2", "Exp2"},
      {"expm1", "Expm1"},
      {"floor", "Floor"},
      {"floor_divide", "FloorDivide"},
      {"gather", "Take"},
      {"greater", "Greater"},
      {"greater_equal", "GreaterEqual"},
      {"is_finite", "Isfinite"},
      {"is_inf", "Isinf"},
      {"is_nan", "Isnan"},
      {"less", "Less"},
      {"less_equal", "LessEqual"},
      {"log", "Log"},
      {"log1p", "Log1p"},
      {"log_softmax", "LogSoftmax"},
      {"logical_and", "LogicalAnd"},
      {"logical_not", "LogicalNot"},
      {"logical_or", "LogicalOr"},
      {"logical_xor", "LogicalXor"},
      {"matmul", "Matmul"},
      {"maximum", "Maximum"},
      {"minimum", "Minimum"},
      {"mod", "Mod"},
      {"multiply", "Multiply"},
      {"negate", "Negative"},
      {"not_equal", "NotEqual"},
      {"one_hot", "OneHot"},
      {"pad", "Pad"},
      {"power", "Power"},
      {"reciprocal", "Reciprocal"},
      {"reduce_max", "Max"},
      {"reduce_min", "Min"},
      {"reduce_prod", "Prod"},
      {"reduce_sum", "Sum"},
      {"relu", "Relu"},
      {"reshape", "Reshape"},
      {"reverse", "Flip"},
      {"round", "Round"},
      {"rsqrt", "Rsqrt"},
      {"select", "Where"},
      {"sigmoid", "Sigmoid"},
      {"sign", "Sign"},
      {"sin", "Sin"},
      {"sinh", "Sinh"},
      {"slice", "GetItem"},
      {"softmax", "Softmax"},
      {"sqrt", "Sqrt"},
      {"square", "Square"},
      {"stop_gradient", "StopGradient"},
      {"subtract", "Subtract"},
      {"take_along_axis", "TakeAlongAxis"},
      {"tan", "Tan"},
      {"tanh", "Tanh"},
      {"transpose", "Transpose"},
  };
  return table;
}

// Keras's name of one of our attributes.
std::string keras_key(const std::string& op, const std::string& attribute) {
  if (op == "reshape" && attribute == "shape") return "newshape";
  if (op == "transpose" && attribute == "permutation") return "axes";
  if (op == "one_hot" && attribute == "depth") return "num_classes";
  return attribute == "axes" ? "axis" : attribute;
}

[[noreturn]] void raise_unsaved(const OpLayer& layer) {
  raise<Unimplemented>(
      "op '{}', applied to placeholders as '{}', can't be saved: none of Keras's ops that Cornu "
      "writes is the same. Put it into a layer, or save the weights alone (save_weights).",
      layer.op().name, layer.name());
}

Json keras_value(const OpLayer& layer, const AttributeValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) return *numbers;
  if (const auto* dtype = std::get_if<DType>(&value)) return to_string(*dtype);
  raise<Unimplemented>(
      "op '{}', applied to placeholders as '{}', can't be saved: it holds a tensor or a graph. Put "
      "it into a layer, or save the weights alone (save_weights).",
      layer.op().name, layer.name());
}

// Writes to `config` the attributes of ops for which they have another meaning in Keras, or none.
// Returns whether it did; otherwise attributes keep their names.
bool set_special(const OpLayer& layer, Json& config) {
  const std::string& op = layer.op().name;
  const Attributes& attributes = layer.attributes();
  if (op == "slice" || op == "matmul") return true;  // the key is an argument of the call
  if (op == "pad") {
    Json::Array widths;
    const auto& low = attributes.get_ints("low");
    for (size_t i = 0; i < low.size(); ++i) {
      if (attributes.get_ints("interior")[i] != 0) raise_unsaved(layer);
      widths.push_back(Json::array({low[i], attributes.get_ints("high")[i]}));
    }
    config.set("pad_width", std::move(widths));
    config.set("mode", "constant");
    return true;
  }
  if (op == "cumsum" || op == "argsort") {
    if (attributes.find("first")) raise_unsaved(layer);
    for (const char* flag : {"exclusive", "reverse", "descending"}) {
      if (attributes.find(flag) && attributes.get_bool(flag)) raise_unsaved(layer);
    }
    config.set("axis", attributes.get_int("axis"));
    return true;
  }
  return false;
}

// The equation for a product of transposed matrices, which in Keras requires einsum; "" for other
// ops.
std::string transposed_product(const OpLayer& layer) {
  if (layer.op().name != "matmul") return {};
  const bool a = layer.attributes().get_bool("transpose_a");
  const bool b = layer.attributes().get_bool("transpose_b");
  if (!a && !b) return {};
  return fmt::format("...{},...{}->...ik", a ? "ji" : "ij", b ? "kj" : "jk");
}

// The key of x[…], with a slice for each axis.
Json slices(const Attributes& attributes) {
  const auto& begin = attributes.get_ints("begin");
  Json::Array key;
  for (size_t i = 0; i < begin.size(); ++i) {
    const int64_t size = attributes.get_ints("size")[i];
    const int64_t step = attributes.get_ints("strides")[i];
    const int64_t end = begin[i] + (size == 0 ? 0 : (size - 1) * step + 1);
    key.push_back(
        Json::object({{"class_name", "__slice__"},
                      {"config", Json::object({{"start", begin[i]},
                                               {"stop", size == kUnknown ? Json() : Json(end)},
                                               {"step", step}})}}));
  }
  return key;
}

}  // namespace

Json serialize_op(const OpLayer& layer) {
  const std::string& op = layer.op().name;
  const auto entry = keras_classes().find(op);
  if (entry == keras_classes().end()) raise_unsaved(layer);
  std::string class_name = entry->second;
  const bool extreme = op == "reduce_max" || op == "reduce_min";
  if (extreme && layer.output()[0].dtype() == DType::Bool) {
    class_name = op == "reduce_max" ? "Any" : "All";
  }
  Json config = Json::object({{"name", layer.name()}});
  if (const std::string subscripts = transposed_product(layer); !subscripts.empty()) {
    class_name = "Einsum";
    config.set("subscripts", subscripts);
  } else if (!set_special(layer, config)) {
    for (const auto& [key, value] : layer.attributes().entries()) {
      config.set(keras_key(op, key), keras_value(layer, value));
    }
  }
  return Json::object({{"module", module_of_keras_op(class_name)},
                       {"class_name", class_name},
                       {"config", std::move(config)},
                       {"registered_name", class_name}});
}

Json::Array op_arguments(const OpLayer& layer, Json::Array operands) {
  const std::string& op = layer.op().name;
  if (op == "concatenate" || op == "stack") return {Json(std::move(operands))};
  if (op == "slice") operands.push_back(slices(layer.attributes()));
  return operands;
}

}  // namespace cornu
