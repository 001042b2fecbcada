// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/op_layers.h"

#include <map>
#include <utility>

namespace cornu {
namespace {

// ---- to files ----

struct KerasName {
  const char* module;  // within keras.src.ops
  const char* class_name;
};

const std::map<std::string, KerasName, std::less<>>& keras_ops() {
  static const std::map<std::string, KerasName, std::less<>> table = {
      {"abs", {"numpy", "Absolute"}},
      {"acos", {"numpy", "Arccos"}},
      {"add", {"numpy", "Add"}},
      {"argmax", {"numpy", "Argmax"}},
      {"argmin", {"numpy", "Argmin"}},
      {"argsort", {"numpy", "Argsort"}},
      {"asin", {"numpy", "Arcsin"}},
      {"atan", {"numpy", "Arctan"}},
      {"atan2", {"numpy", "Arctan2"}},
      {"broadcast_to", {"numpy", "BroadcastTo"}},
      {"cast", {"core", "Cast"}},
      {"ceil", {"numpy", "Ceil"}},
      {"concatenate", {"numpy", "Concatenate"}},
      {"cos", {"numpy", "Cos"}},
      {"cosh", {"numpy", "Cosh"}},
      {"cumsum", {"numpy", "Cumsum"}},
      {"divide", {"numpy", "TrueDivide"}},
      {"equal", {"numpy", "Equal"}},
      {"erf", {"math", "Erf"}},
      {"erf_inv", {"math", "Erfinv"}},
      {"exp", {"numpy", "Exp"}},
      {"exp2", {"numpy", "Exp2"}},
      {"expm1", {"numpy", "Expm1"}},
      {"floor", {"numpy", "Floor"}},
      {"floor_divide", {"numpy", "FloorDivide"}},
      {"gather", {"numpy", "Take"}},
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
      {"matmul", {"numpy", "Matmul"}},
      {"maximum", {"numpy", "Maximum"}},
      {"minimum", {"numpy", "Minimum"}},
      {"mod", {"numpy", "Mod"}},
      {"multiply", {"numpy", "Multiply"}},
      {"negate", {"numpy", "Negative"}},
      {"not_equal", {"numpy", "NotEqual"}},
      {"one_hot", {"nn", "OneHot"}},
      {"pad", {"numpy", "Pad"}},
      {"power", {"numpy", "Power"}},
      {"reciprocal", {"numpy", "Reciprocal"}},
      {"reduce_max", {"numpy", "Max"}},
      {"reduce_min", {"numpy", "Min"}},
      {"reduce_prod", {"numpy", "Prod"}},
      {"reduce_sum", {"numpy", "Sum"}},
      {"relu", {"nn", "Relu"}},
      {"reshape", {"numpy", "Reshape"}},
      {"reverse", {"numpy", "Flip"}},
      {"round", {"numpy", "Round"}},
      {"rsqrt", {"math", "Rsqrt"}},
      {"select", {"numpy", "Where"}},
      {"sigmoid", {"nn", "Sigmoid"}},
      {"sign", {"numpy", "Sign"}},
      {"sin", {"numpy", "Sin"}},
      {"sinh", {"numpy", "Sinh"}},
      {"slice", {"numpy", "GetItem"}},
      {"softmax", {"nn", "Softmax"}},
      {"sqrt", {"numpy", "Sqrt"}},
      {"square", {"numpy", "Square"}},
      {"stop_gradient", {"core", "StopGradient"}},
      {"subtract", {"numpy", "Subtract"}},
      {"take_along_axis", {"numpy", "TakeAlongAxis"}},
      {"tan", {"numpy", "Tan"}},
      {"tanh", {"numpy", "Tanh"}},
      {"transpose", {"numpy", "Transpose"}},
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
  const auto entry = keras_ops().find(op);
  if (entry == keras_ops().end()) raise_unsaved(layer);
  KerasName keras = entry->second;
  const bool extreme = op == "reduce_max" || op == "reduce_min";
  if (extreme && layer.output()[0].dtype() == DType::Bool) {
    keras.class_name = op == "reduce_max" ? "Any" : "All";
  }
  Json config = Json::object({{"name", layer.name()}});
  if (const std::string subscripts = transposed_product(layer); !subscripts.empty()) {
    keras.class_name = "Einsum";
    config.set("subscripts", subscripts);
  } else if (!set_special(layer, config)) {
    for (const auto& [key, value] : layer.attributes().entries()) {
      config.set(keras_key(op, key), keras_value(layer, value));
    }
  }
  return Json::object({{"module", std::string("keras.src.ops.") + keras.module},
                       {"class_name", keras.class_name},
                       {"config", std::move(config)},
                       {"registered_name", keras.class_name}});
}

Json::Array op_arguments(const OpLayer& layer, Json::Array operands) {
  const std::string& op = layer.op().name;
  if (op == "concatenate" || op == "stack") return {Json(std::move(operands))};
  if (op == "slice") operands.push_back(slices(layer.attributes()));
  return operands;
}

}  // namespace cornu
