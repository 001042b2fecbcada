// SPDX-License-Identifier: Apache-2.0
// Applies Keras's ops as specified in files.
#include <string>
#include <string_view>
#include <utility>

#include "framework/core/strings.h"
#include "framework/model/constants.h"
#include "framework/ops/ops.h"
#include "framework/saving/keras_op.h"
#include "framework/saving/op_config.h"
#include "framework/saving/op_layers.h"

namespace cornu {
namespace {

constexpr char kGetItem[] = "GetItem";  // x[key], whose key isn't an operand

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

// The arguments of a call, in Keras's order.
struct Operands {
  const std::string& op;
  const std::vector<Tensor>& list;

  size_t size() const { return list.size(); }
  const Tensor& at(size_t place) const {
    check<InvalidArgument>(place < list.size(), "op '{}': expected at least {} operands, got {}.",
                           op, place + 1, list.size());
    return list[place];
  }
};
using WithConfig = Tensors (*)(const Operands&, const OpConfig& config);

const KerasOpTable<Unary>& unary_ops() {
  static const KerasOpTable<Unary> made = [] {
    KerasOpTable<Unary> table;
    table.of("core").add({
        {"StopGradient", ops::stop_gradient},
    });
    table.of("math").add({
        {"Erf", ops::erf},
        {"Erfinv", ops::erfinv},
        {"Rsqrt", ops::rsqrt},
    });
    table.of("nn").add({
        {"HardSigmoid", ops::hard_sigmoid},
        {"HardSilu", ops::hard_silu},
        {"HardTanh", ops::hard_tanh},
        {"LogSigmoid", ops::log_sigmoid},
        {"Relu", ops::relu},
        {"Relu6", ops::relu6},
        {"Selu", ops::selu},
        {"Sigmoid", ops::sigmoid},
        {"Silu", ops::silu},
        {"Softplus", ops::softplus},
        {"Softsign", ops::softsign},
        {"TanhShrink", ops::tanh_shrink},
    });
    table.of("numpy").add({
        {"Abs", ops::abs},
        {"Absolute", ops::absolute},
        {"Arccos", ops::arccos},
        {"Arcsin", ops::arcsin},
        {"Arctan", ops::arctan},
        {"Ceil", ops::ceil},
        {"Cos", ops::cos},
        {"Cosh", ops::cosh},
        {"Exp", ops::exp},
        {"Expm1", ops::expm1},
        {"Floor", ops::floor},
        {"Isfinite", ops::isfinite},
        {"Isinf", ops::isinf},
        {"Isnan", ops::isnan},
        {"Log", ops::log},
        {"Log10", ops::log10},
        {"Log1p", ops::log1p},
        {"Log2", ops::log2},
        {"LogicalNot", ops::logical_not},
        {"Negative", ops::negative},
        {"Ravel", ops::ravel},
        {"Reciprocal", ops::reciprocal},
        {"Sign", ops::sign},
        {"Sin", ops::sin},
        {"Sinh", ops::sinh},
        {"Sqrt", ops::sqrt},
        {"Square", ops::square},
        {"Tan", ops::tan},
        {"Tanh", ops::tanh},
    });
    return table;
  }();
  return made;
}

const KerasOpTable<Binary>& binary_ops() {
  static const KerasOpTable<Binary> made = [] {
    KerasOpTable<Binary> table;
    table.of("numpy").add({
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
    });
    return table;
  }();
  return made;
}

// ---- x[key] ----

Index index_of(const Json& entry) {
  if (entry.is_null()) return newaxis;
  if (entry.is_int()) return entry.as_int();
  const std::string kind = entry.is_object() ? entry.at("class_name").as_string() : "";
  if (kind == "__ellipsis__") return ellipsis;
  check<Unimplemented>(kind == "__slice__",
                       "op 'GetItem': expected numbers, slices, ellipsis and None, got {}.",
                       entry.excerpt());
  const OpConfig slice(entry.at("config"));
  return Slice(slice.maybe("start"), slice.maybe("stop"), slice.integer("step", 1));
}

Tensors get_item(const Tensor& x, const Json& key) {
  if (!key.is_array()) return ops::get_item(x, {index_of(key)});
  std::vector<Index> indices;
  for (const Json& entry : key.as_array()) indices.push_back(index_of(entry));
  return ops::get_item(x, indices);
}

Tensors split(const Tensor& x, const OpConfig& config) {
  const Json& parts = config.json.at("indices_or_sections");
  const int64_t axis = config.integer("axis", 0);
  return parts.is_array() ? ops::split(x, parts.as_ints(), axis)
                          : ops::split(x, parts.as_int(), axis);
}

Tensors pad(const Operands& x, const OpConfig& config) {
  std::vector<std::pair<int64_t, int64_t>> widths;
  for (const Json& pair : config.json.at("pad_width").as_array()) {
    widths.emplace_back(pair[0].as_int(), pair[1].as_int());
  }
  return ops::pad(x.at(0), widths,
                  {.mode = config.text("mode", "constant"),
                   .constant_values = x.size() > 1 ? x.at(1) : Tensor(0)});
}

template <Tensor (*kReduce)(const Tensor&, const Axes&, bool)>
Tensors reduce(const Operands& x, const OpConfig& config) {
  return kReduce(x.at(0), config.axes(), config.flag("keepdims", false));
}
template <Tensor (*kExtreme)(const Tensor&, const Axes&, bool),
          Tensor (*kWithInitial)(const Tensor&, const Axes&, bool, const Tensor&)>
Tensors extreme(const Operands& x, const OpConfig& config) {
  const Json* initial = config.find("initial");
  const bool keepdims = config.flag("keepdims", false);
  return initial ? kWithInitial(x.at(0), config.axes(), keepdims, Tensor(initial->as_double()))
                 : kExtreme(x.at(0), config.axes(), keepdims);
}
Tensors prod(const Operands& x, const OpConfig& config) {
  const std::optional<DTypeLike> dtype = config.dtype();
  const bool keepdims = config.flag("keepdims", false);
  return dtype ? ops::prod(x.at(0), config.axes(), keepdims, *dtype)
               : ops::prod(x.at(0), config.axes(), keepdims);
}
template <Tensor (*kAlong)(const Tensor&, const Axes&)>
Tensors along_axes(const Operands& x, const OpConfig& config) {
  return kAlong(x.at(0), config.json.find("axis") ? config.axes() : -1);
}

template <Tensor (*kArg)(const Tensor&, std::optional<int64_t>, bool)>
Tensors arg(const Operands& x, const OpConfig& config) {
  return kArg(x.at(0), config.maybe("axis"), config.flag("keepdims", false));
}

const KerasOpTable<WithConfig>& configured_ops() {
  using C = const OpConfig&;
  using X = const Operands&;
  static const KerasOpTable<WithConfig> made = [] {
    KerasOpTable<WithConfig> table;
    table.of("core").add({
        {"Cast",
         [](X x, C c) -> Tensors {
           return ops::cast(x.at(0), dtype_from_string(c.json.at("dtype").as_string()));
         }},
        {"ConvertToTensor",  // Keras's conversion of a mask
         [](X x, C c) -> Tensors {
           const std::optional<DTypeLike> dtype = c.dtype();
           return dtype ? ops::cast(x.at(0), *dtype) : x.at(0);
         }},
    });
    table.of("math").add({
        {"Logsumexp", reduce<ops::logsumexp>},
    });
    table.of("nn").add({
        {"LogSoftmax", along_axes<ops::log_softmax>},
        {"Softmax", along_axes<ops::softmax>},
        {"Elu", [](X x, C c) -> Tensors { return ops::elu(x.at(0), c.number("alpha", 1)); }},
        {"Gelu",
         [](X x, C c) -> Tensors { return ops::gelu(x.at(0), c.flag("approximate", true)); }},
        {"LeakyRelu",
         [](X x, C c) -> Tensors {
           return ops::leaky_relu(x.at(0), c.number("negative_slope", 0.2));
         }},
        {"OneHot",
         [](X x, C c) -> Tensors {
           return ops::one_hot(x.at(0), c.json.at("num_classes").as_int(), c.integer("axis", -1),
                               c.dtype().value_or(DType::Float32));
         }},
    });
    table.of("numpy").add({
        {"All", reduce<ops::all>},
        {"Any", reduce<ops::any>},
        {"Max", extreme<ops::max, ops::max>},
        {"Mean", reduce<ops::mean>},
        {"Min", extreme<ops::min, ops::min>},
        {"Prod", prod},
        {"Std", reduce<ops::std>},
        {"Sum", reduce<ops::sum>},
        {"Var", reduce<ops::var>},
        {"Argmax", arg<ops::argmax>},
        {"Argmin", arg<ops::argmin>},
        {"Argsort", [](X x, C c) -> Tensors { return ops::argsort(x.at(0), c.axis_or_none(-1)); }},
        {"Clip",
         [](X x, C c) -> Tensors {
           return ops::clip(x.at(0), literal_tensor(c.json.at("x_min")),
                            literal_tensor(c.json.at("x_max")));
         }},
        {"CountNonzero", [](X x, C c) -> Tensors { return ops::count_nonzero(x.at(0), c.axes()); }},
        {"Cumsum",
         [](X x, C c) -> Tensors {
           return ops::cumsum(x.at(0), c.maybe("axis"), {.dtype = c.dtype()});
         }},
        {"Einsum",
         [](X x, C c) -> Tensors {
           return ops::einsum(c.json.at("subscripts").as_string(), x.list);
         }},
        {"FullLike",
         [](X x, C c) -> Tensors { return ops::full_like(x.at(0), x.at(1), c.dtype()); }},
        {"OnesLike", [](X x, C c) -> Tensors { return ops::ones_like(x.at(0), c.dtype()); }},
        {"Round",
         [](X x, C c) -> Tensors { return ops::round(x.at(0), c.integer("decimals", 0)); }},
        {"Sort", [](X x, C c) -> Tensors { return ops::sort(x.at(0), c.integer("axis", -1)); }},
        {"Where", [](X x, C) -> Tensors { return ops::where(x.at(0), x.at(1), x.at(2)); }},
        {"ZerosLike", [](X x, C c) -> Tensors { return ops::zeros_like(x.at(0), c.dtype()); }},
    });
    return table;
  }();
  return made;
}

// Ops that rearrange elements.
const KerasOpTable<WithConfig>& arranging_ops() {
  using C = const OpConfig&;
  using X = const Operands&;
  static const KerasOpTable<WithConfig> made = [] {
    KerasOpTable<WithConfig> table;
    table.of("core").add({
        {"Unstack",
         [](X x, C c) -> Tensors { return ops::unstack(x.at(0), c.integer("axis", 0)); }},
    });
    table.of("numpy").add({
        {"BroadcastTo",
         [](X x, C c) -> Tensors {
           return ops::broadcast_to(x.at(0), c.json.at("shape").as_shape());
         }},
        {"Concatenate",
         [](X x, C c) -> Tensors { return ops::concatenate(x.list, c.integer("axis", 0)); }},
        {"ExpandDims", [](X x, C c) -> Tensors { return ops::expand_dims(x.at(0), c.axes()); }},
        {"Flip", [](X x, C c) -> Tensors { return ops::flip(x.at(0), c.axes()); }},
        {"Moveaxis",
         [](X x, C c) -> Tensors {
           return ops::moveaxis(x.at(0), integers_of(c.json.at("source")),
                                integers_of(c.json.at("destination")));
         }},
        {"Pad", pad},
        {"Repeat",
         [](X x, C c) -> Tensors {
           return ops::repeat(x.at(0), integers_of(c.json.at("repeats")), c.maybe("axis"));
         }},
        {"Reshape",
         [](X x, C c) -> Tensors {
           return ops::reshape(x.at(0), c.json.at("newshape").as_shape());
         }},
        {"Split", [](X x, C c) -> Tensors { return split(x.at(0), c); }},
        {"Squeeze", [](X x, C c) -> Tensors { return ops::squeeze(x.at(0), c.axes()); }},
        {"Stack", [](X x, C c) -> Tensors { return ops::stack(x.list, c.integer("axis", 0)); }},
        {"Swapaxes",
         [](X x, C c) -> Tensors {
           return ops::swapaxes(x.at(0), c.json.at("axis1").as_int(), c.json.at("axis2").as_int());
         }},
        {"Take", [](X x, C c) -> Tensors { return ops::take(x.at(0), x.at(1), c.maybe("axis")); }},
        {"TakeAlongAxis",
         [](X x, C c) -> Tensors {
           return ops::take_along_axis(x.at(0), x.at(1), c.maybe("axis"));
         }},
        {"Transpose",
         [](X x, C c) -> Tensors {
           const Json* axes = c.find("axes");
           return ops::transpose(x.at(0), axes ? axes->as_ints() : std::vector<int64_t>());
         }},
    });
    return table;
  }();
  return made;
}

// Calls f with each table.
template <class F>
void each_table(const F& f) {
  f(composed_ops());
  f(unary_ops());
  f(binary_ops());
  f(configured_ops());
  f(arranging_ops());
}

void require_operands(const Operands& operands, size_t count) {
  check<InvalidArgument>(operands.size() == count, "op '{}': expected {} operands, got {}.",
                         operands.op, count, operands.size());
}

}  // namespace

std::vector<std::string> keras_op_names() {
  std::vector<std::string> names = {kGetItem};
  each_table([&](const auto& table) {
    for (const auto& entry : table.entries()) names.push_back(entry.first);
  });
  return names;
}

std::string module_of_keras_op(std::string_view class_name) {
  std::string module = "numpy";  // GetItem's
  each_table([&](const auto& table) {
    if (const auto* entry = table.find(class_name)) module = entry->module;
  });
  return "keras.src.ops." + module;
}

Tensors apply_keras_op(const std::string& class_name, const OpCall& call) {
  if (class_name == kGetItem) return get_item(call.operand(0, "x"), call.argument(1, "key"));
  const Json* indices = class_name == "Take" ? call.value(1, "indices") : nullptr;
  const bool numbers = indices && indices->is_array();
  const std::vector<Tensor> list =
      numbers ? std::vector<Tensor>{call.operand(0, "x"), Tensor::from(indices->as_ints())}
              : call.flat();
  const Operands operands{class_name, list};
  if (const auto* unary = unary_ops().find(class_name)) {
    require_operands(operands, 1);
    return unary->apply(list[0]);
  }
  if (const auto* binary = binary_ops().find(class_name)) {
    require_operands(operands, 2);
    return binary->apply(list[0], list[1]);
  }
  for (const auto* table : {&configured_ops(), &arranging_ops()}) {
    if (const auto* configured = table->find(class_name)) return configured->apply(operands, call);
  }
  raise<Unimplemented>("The op '{}' isn't implemented for models in files.{}", class_name,
                       did_you_mean(class_name, keras_op_names()));
}

}  // namespace cornu
