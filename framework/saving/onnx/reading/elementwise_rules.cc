// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

template <Unary kUnary>
void read_unary(NodeReader& n) {
  n.give(kUnary(n.in()));
}

// Before operator set 7, the second operand was aligned at an axis of the first.
Tensor second(NodeReader& n, int64_t rank) {
  const Tensor y = n.in(1);
  if (n.opset() >= 7 || !n.has("axis")) return y;
  const int64_t axis = n.axis(n.integer("axis", 0), rank);
  const int64_t behind = rank - axis - y.rank();
  if (behind <= 0) return y;
  return ops::reshape(y, y.shape().concat(Shape(Ints(static_cast<size_t>(behind), 1))));
}

template <Binary kBinary>
void read_binary(NodeReader& n) {
  const Tensor x = n.in(0);
  n.give(kBinary(x, second(n, x.rank())));
}

// For one or more operands.
template <Binary kBinary>
void read_folded(NodeReader& n) {
  const std::vector<Tensor> all = n.all_in();
  check<InvalidArgument>(!all.empty(), "expected at least one input, got none.");
  Tensor result = all[0];
  for (size_t i = 1; i < all.size(); ++i) result = kBinary(result, all[i]);
  n.give(result);
}

void read_mean(NodeReader& n) {
  read_folded<ops::add>(n);
  const Tensor sum =
      n.results()[0].is_known() ? n.results()[0].known[0] : n.results()[0].placeholder;
  n.give(ops::divide(sum, static_cast<double>(n.count())));
}

void read_mod(NodeReader& n) {
  const Tensor x = n.in(0), y = n.in(1);
  n.give(n.integer("fmod", 0) != 0 ? ops::fmod(x, y) : ops::mod(x, y));
}

// The result has the dtype of the base.
void read_pow(NodeReader& n) {
  const Tensor x = n.in(0);
  n.give(ops::cast(ops::power(x, second(n, x.rank())), x.dtype()));
}

void read_clip(NodeReader& n) {
  const Tensor x = n.in();
  Tensor low, high;
  if (n.opset() < 11) {
    if (n.has("min")) low = ops::cast(n.number("min", 0), x.dtype());
    if (n.has("max")) high = ops::cast(n.number("max", 0), x.dtype());
  } else {
    low = n.optional(1);
    high = n.optional(2);
  }
  const auto is_number = [](const Tensor& bound) {
    return bound.defined() && !bound.is_symbolic() && bound.num_elements() == 1 &&
           std::isfinite(bound.item<double>());
  };
  if (!n.folds() && is_floating(x.dtype()) && is_number(low) && is_number(high) &&
      low.item<double>() == 0 && high.item<double>() > 0) {
    return n.give(n.layer("ReLU", Json::object({{"max_value", high.item<double>()}}), x).single());
  }
  Tensor result = x;
  if (low.defined()) result = ops::maximum(result, low);
  if (high.defined()) result = ops::minimum(result, high);
  n.give(result);
}

void read_where(NodeReader& n) { n.give(ops::where(n.in(0), n.in(1), n.in(2))); }

void read_cast_to(NodeReader& n, DType dtype) { n.give(ops::cast(n.in(), dtype)); }

void read_cast(NodeReader& n) {
  const int64_t type = n.integer("to", 0);
  const std::optional<DType> dtype = dtype_of_type(type);
  if (!dtype)
    n.refuse(fmt::format("it casts to ONNX's data type {}, which Cornu doesn't have", type));
  read_cast_to(n, *dtype);
}

void read_cast_like(NodeReader& n) { read_cast_to(n, n.in(1).dtype()); }

void read_is_inf(NodeReader& n) {
  const bool negative = n.integer("detect_negative", 1) != 0;
  const bool positive = n.integer("detect_positive", 1) != 0;
  const Tensor x = n.in();
  if (negative && positive) return n.give(ops::isinf(x));
  const Tensor infinite = ops::isinf(x);
  if (positive) return n.give(ops::logical_and(infinite, ops::greater(x, 0)));
  if (negative) return n.give(ops::logical_and(infinite, ops::less(x, 0)));
  n.give(ops::logical_and(infinite, ops::logical_not(infinite)));
}

void read_bit_shift(NodeReader& n) {
  const std::string direction = n.text("direction", "");
  check<InvalidArgument>(direction == "LEFT" || direction == "RIGHT",
                         "expected the direction LEFT or RIGHT, got '{}'.", direction);
  n.give(direction == "LEFT" ? ops::left_shift(n.in(0), n.in(1))
                             : ops::right_shift(n.in(0), n.in(1)));
}

const Rule kRulesOfElements[] = {
    {"Abs", read_unary<ops::abs>},
    {"Acos", read_unary<ops::arccos>},
    {"Acosh", read_unary<ops::arccosh>},
    {"Add", read_binary<ops::add>},
    {"And", read_binary<ops::logical_and>},
    {"Asin", read_unary<ops::arcsin>},
    {"Asinh", read_unary<ops::arcsinh>},
    {"Atan", read_unary<ops::arctan>},
    {"Atanh", read_unary<ops::arctanh>},
    {"BitShift", read_bit_shift},
    {"BitwiseAnd", read_binary<ops::bitwise_and>},
    {"BitwiseNot", read_unary<ops::bitwise_not>},
    {"BitwiseOr", read_binary<ops::bitwise_or>},
    {"BitwiseXor", read_binary<ops::bitwise_xor>},
    {"Cast", read_cast},
    {"CastLike", read_cast_like},
    {"Ceil", read_unary<ops::ceil>},
    {"Clip", read_clip},
    {"Cos", read_unary<ops::cos>},
    {"Cosh", read_unary<ops::cosh>},
    {"Div", read_binary<divided>},
    {"Equal", read_binary<ops::equal>},
    {"Erf", read_unary<ops::erf>},
    {"Exp", read_unary<ops::exp>},
    {"Floor", read_unary<ops::floor>},
    {"Greater", read_binary<ops::greater>},
    {"GreaterOrEqual", read_binary<ops::greater_equal>},
    {"IsInf", read_is_inf},
    {"IsNaN", read_unary<ops::isnan>},
    {"Less", read_binary<ops::less>},
    {"LessOrEqual", read_binary<ops::less_equal>},
    {"Log", read_unary<ops::log>},
    {"Max", read_folded<ops::maximum>},
    {"Mean", read_mean},
    {"Min", read_folded<ops::minimum>},
    {"Mod", read_mod},
    {"Mul", read_binary<ops::multiply>},
    {"Neg", read_unary<ops::negative>},
    {"Not", read_unary<ops::logical_not>},
    {"Or", read_binary<ops::logical_or>},
    {"Pow", read_pow},
    {"Reciprocal", read_unary<ops::reciprocal>},
    {"Round", read_unary<ops::round>},
    {"Sign", read_unary<ops::sign>},
    {"Sin", read_unary<ops::sin>},
    {"Sinh", read_unary<ops::sinh>},
    {"Sqrt", read_unary<ops::sqrt>},
    {"Sub", read_binary<ops::subtract>},
    {"Sum", read_folded<ops::add>},
    {"Tan", read_unary<ops::tan>},
    {"Where", read_where},
    {"Xor", read_binary<ops::logical_xor>},
};

}  // namespace

Tensor divided(const Tensor& x, const Tensor& y) {
  if (!is_integer(x.dtype())) return ops::divide(x, y);
  const Tensor down = ops::floor_divide(x, y);
  if (!is_signed(x.dtype())) return down;
  const Tensor rest = ops::subtract(x, ops::multiply(down, y));
  const Tensor up =
      ops::logical_and(ops::not_equal(rest, 0), ops::logical_xor(ops::less(x, 0), ops::less(y, 0)));
  return ops::add(down, ops::cast(up, x.dtype()));
}

std::span<const Rule> elementwise_rules() { return kRulesOfElements; }

}  // namespace cornu::onnx::reading
