// SPDX-License-Identifier: Apache-2.0
// Elementwise ops: operands are broadcast, then one or a few StableHLO ops are applied.

#include "framework/backends/xla/lowering.h"

namespace cornu::xla {
namespace {

using UnaryLower = Value (*)(Writer&, const Value&);
using BinaryLower = Value (*)(Writer&, const Value&, const Value&);

Value not_of(Writer& to, const Value& x) { return unary(to, "not", x); }
Value is_zero(Writer& to, const Value& x) { return compare(to, "EQ", x, like(to, 0, x)); }
Value is_negative(Writer& to, const Value& x) { return compare(to, "LT", x, like(to, 0, x)); }

// ---- one operand ----

Value lower_abs(Writer& to, const Value& x) {
  return is_floating(x.dtype()) || is_signed(x.dtype()) ? unary(to, "abs", x) : x;
}

Value lower_sign(Writer& to, const Value& x) {
  if (is_floating(x.dtype()) || is_signed(x.dtype())) return unary(to, "sign", x);
  return convert(to, compare(to, "NE", x, like(to, 0, x)), x.dtype());
}

Value lower_tan(Writer& to, const Value& x) {
  return divide(to, unary(to, "sine", x), unary(to, "cosine", x));
}

Value lower_relu(Writer& to, const Value& x) {
  return select(to, is_negative(to, x), like(to, 0, x), x);  // propagates NaN
}

Value lower_is_inf(Writer& to, const Value& x) {
  return compare(to, "EQ", unary(to, "abs", x), extreme(to, true, x.type));
}

Value lower_is_finite(Writer& to, const Value& x) {
  return to.op("stablehlo.is_finite", {x}, {DType::Bool, x.shape()});
}

// Functions of 16-bit floats are computed in float32.
Value chlo(Writer& to, std::string_view op, const Value& x) {
  const Value wide = is_half(x.dtype()) ? convert(to, x, DType::Float32) : x;
  return convert(to, to.op(op, {wide}, wide.type), x.dtype());
}

struct UnaryEntry {
  const char* name;
  UnaryLower lower;
};
const UnaryEntry kUnary[] = {
    {"negate", [](Writer& to, const Value& x) { return unary(to, "negate", x); }},
    {"abs", lower_abs},
    {"sign", lower_sign},
    {"floor", [](Writer& to, const Value& x) { return unary(to, "floor", x); }},
    {"ceil", [](Writer& to, const Value& x) { return unary(to, "ceil", x); }},
    {"round", [](Writer& to, const Value& x) { return unary(to, "round_nearest_even", x); }},
    {"exp", [](Writer& to, const Value& x) { return unary(to, "exponential", x); }},
    {"exp2",
     [](Writer& to, const Value& x) { return binary(to, "power", splat(to, 2, x.type), x); }},
    {"expm1", [](Writer& to, const Value& x) { return unary(to, "exponential_minus_one", x); }},
    {"log", [](Writer& to, const Value& x) { return unary(to, "log", x); }},
    {"log1p", [](Writer& to, const Value& x) { return unary(to, "log_plus_one", x); }},
    {"sqrt", [](Writer& to, const Value& x) { return unary(to, "sqrt", x); }},
    {"rsqrt", [](Writer& to, const Value& x) { return unary(to, "rsqrt", x); }},
    {"square", [](Writer& to, const Value& x) { return multiply(to, x, x); }},
    {"reciprocal", [](Writer& to, const Value& x) { return divide(to, like(to, 1, x), x); }},
    {"sin", [](Writer& to, const Value& x) { return unary(to, "sine", x); }},
    {"cos", [](Writer& to, const Value& x) { return unary(to, "cosine", x); }},
    {"tan", lower_tan},
    {"asin", [](Writer& to, const Value& x) { return chlo(to, "chlo.asin", x); }},
    {"acos", [](Writer& to, const Value& x) { return chlo(to, "chlo.acos", x); }},
    {"atan", [](Writer& to, const Value& x) { return chlo(to, "chlo.atan", x); }},
    {"sinh", [](Writer& to, const Value& x) { return chlo(to, "chlo.sinh", x); }},
    {"cosh", [](Writer& to, const Value& x) { return chlo(to, "chlo.cosh", x); }},
    {"tanh", [](Writer& to, const Value& x) { return unary(to, "tanh", x); }},
    {"erf", [](Writer& to, const Value& x) { return chlo(to, "chlo.erf", x); }},
    {"erfc", [](Writer& to, const Value& x) { return chlo(to, "chlo.erfc", x); }},
    {"erf_inv", [](Writer& to, const Value& x) { return chlo(to, "chlo.erf_inv", x); }},
    {"relu", lower_relu},
    {"sigmoid", [](Writer& to, const Value& x) { return unary(to, "logistic", x); }},
    {"identity", [](Writer&, const Value& x) { return x; }},
    {"stop_gradient", [](Writer&, const Value& x) { return x; }},
    {"is_nan", [](Writer& to, const Value& x) { return compare(to, "NE", x, x); }},
    {"is_inf", lower_is_inf},
    {"is_finite", lower_is_finite},
    {"logical_not", not_of},
};

// ---- two operands ----

// The result of an integer division by 0.
Value zero_where_zero(Writer& to, const Value& divisor, const Value& result) {
  return select(to, is_zero(to, divisor), like(to, 0, result), result);
}

// The divisor, or 1 if it is 0 or -1 (the lowest number can't be negated).
Value safe_divisor(Writer& to, const Value& b) {
  Value odd = is_zero(to, b);
  if (is_signed(b.dtype())) odd = either(to, odd, compare(to, "EQ", b, like(to, -1, b)));
  return select(to, odd, like(to, 1, b), b);
}

Value int_mod(Writer& to, const Value& a, const Value& b) {
  const Value divisor = safe_divisor(to, b);
  const Value rest = binary(to, "remainder", a, divisor);
  if (!is_signed(a.dtype())) return rest;
  const Value other_sign = compare(to, "NE", is_negative(to, rest), is_negative(to, divisor));
  const Value moved = both(to, not_of(to, is_zero(to, rest)), other_sign);
  return select(to, moved, add(to, rest, divisor), rest);
}

Value int_floor_divide(Writer& to, const Value& a, const Value& b) {
  const Value divisor = safe_divisor(to, b);
  const Value quotient = divide(to, a, divisor);
  if (!is_signed(a.dtype())) return zero_where_zero(to, b, quotient);
  const Value rest = multiply(to, quotient, divisor);
  const Value inexact = compare(to, "NE", rest, a);
  const Value other_sign = compare(to, "NE", is_negative(to, a), is_negative(to, divisor));
  const Value floored = select(to, both(to, inexact, other_sign),
                               subtract(to, quotient, like(to, 1, quotient)), quotient);
  const Value by_minus_one = compare(to, "EQ", b, like(to, -1, b));
  return zero_where_zero(to, b, select(to, by_minus_one, unary(to, "negate", a), floored));
}

// Python's modulo: exact, with the sign of b.
Value float_mod(Writer& to, const Value& a, const Value& b) {
  const Value rest = binary(to, "remainder", a, b);
  const Value other_sign = compare(to, "NE", is_negative(to, rest), is_negative(to, b));
  const Value signed_zero = select(to, is_negative(to, b), like(to, -0.0, b), like(to, 0, b));
  return select(to, is_zero(to, rest), signed_zero, select(to, other_sign, add(to, rest, b), rest));
}

Value float_floor_divide(Writer& to, const Value& a, const Value& b) {
  const Value plain = divide(to, a, b);
  const Value finite = lower_is_finite(to, a);
  const Value is_number = compare(to, "EQ", b, b);
  const Value exact = both(to, both(to, finite, is_number), not_of(to, is_zero(to, b)));
  const Value quotient = divide(to, subtract(to, a, float_mod(to, a, b)), b);
  const Value rounded = unary(to, "floor", quotient);
  const Value up = compare(to, "GT", subtract(to, quotient, rounded), like(to, 0.5, quotient));
  const Value result = select(to, up, add(to, rounded, like(to, 1, rounded)), rounded);
  return select(to, exact, result, plain);
}

// 16-bit floats are computed in float32, since there are several operations.
Value in_float32(Writer& to, BinaryLower lower, const Value& a, const Value& b) {
  if (!is_half(a.dtype())) return lower(to, a, b);
  const Value result = lower(to, convert(to, a, DType::Float32), convert(to, b, DType::Float32));
  return convert(to, result, a.dtype());
}

Value lower_mod(Writer& to, const Value& a, const Value& b) {
  return is_floating(a.dtype()) ? in_float32(to, float_mod, a, b) : int_mod(to, a, b);
}
Value lower_floor_divide(Writer& to, const Value& a, const Value& b) {
  return is_floating(a.dtype()) ? in_float32(to, float_floor_divide, a, b)
                                : int_floor_divide(to, a, b);
}

// By squaring, for each bit of the exponent. A negative exponent yields the reciprocal, rounded
// toward zero.
Value int_power(Writer& to, const Value& a, const Value& b) {
  const auto bits = static_cast<int>(8 * size_of(a.dtype()));
  const Value one = like(to, 1, a);
  Value result = one;
  Value square = a;
  for (int bit = 0; bit < bits; ++bit) {
    const Value shifted = binary(to, "shift_right_logical", b, splat_int(to, bit, b.type));
    const Value is_set = compare(to, "NE", both(to, shifted, one), like(to, 0, b));
    result = select(to, is_set, multiply(to, result, square), result);
    square = multiply(to, square, square);
  }
  if (!is_signed(a.dtype())) return result;
  const Value odd = compare(to, "NE", both(to, b, one), like(to, 0, b));
  const Value minus_one = like(to, -1, a);
  const Value of_minus_one = select(to, odd, minus_one, one);
  const Value reciprocal =
      select(to, compare(to, "EQ", a, one), one,
             select(to, compare(to, "EQ", a, minus_one), of_minus_one, like(to, 0, a)));
  return select(to, is_negative(to, b), reciprocal, result);
}

Value lower_power(Writer& to, const Value& a, const Value& b) {
  return is_floating(a.dtype()) ? binary(to, "power", a, b) : int_power(to, a, b);
}

// Shifts by at least the number of bits, and by negative numbers, shift all of them out.
Value shift(Writer& to, const char* op, const Value& a, const Value& b, const Value& out) {
  const auto bits = static_cast<int64_t>(8 * size_of(a.dtype()));
  const Value inside = both(to, compare(to, "GE", b, like(to, 0, b)),
                            compare(to, "LT", b, splat_int(to, bits, b.type)));
  const Value by = select(to, inside, b, like(to, 0, b));
  return select(to, inside, binary(to, op, a, by), out);
}
Value lower_left_shift(Writer& to, const Value& a, const Value& b) {
  return shift(to, "shift_left", a, b, like(to, 0, a));
}
Value lower_right_shift(Writer& to, const Value& a, const Value& b) {
  const Value zero = like(to, 0, a);
  if (!is_signed(a.dtype())) return shift(to, "shift_right_logical", a, b, zero);
  return shift(to, "shift_right_arithmetic", a, b,
               select(to, is_negative(to, a), like(to, -1, a), zero));
}

struct BinaryEntry {
  const char* name;
  BinaryLower lower;
};
const BinaryEntry kBinary[] = {
    {"add", add},
    {"subtract", subtract},
    {"multiply", multiply},
    {"divide", divide},
    {"maximum",
     [](Writer& to, const Value& a, const Value& b) { return binary(to, "maximum", a, b); }},
    {"minimum",
     [](Writer& to, const Value& a, const Value& b) { return binary(to, "minimum", a, b); }},
    {"power", lower_power},
    {"floor_divide", lower_floor_divide},
    {"mod", lower_mod},
    {"atan2", [](Writer& to, const Value& a, const Value& b) { return binary(to, "atan2", a, b); }},
    {"bitwise_and", both},
    {"bitwise_or", either},
    {"bitwise_xor",
     [](Writer& to, const Value& a, const Value& b) { return binary(to, "xor", a, b); }},
    {"left_shift", lower_left_shift},
    {"right_shift", lower_right_shift},
    {"equal", [](Writer& to, const Value& a, const Value& b) { return compare(to, "EQ", a, b); }},
    {"not_equal",
     [](Writer& to, const Value& a, const Value& b) { return compare(to, "NE", a, b); }},
    {"less", [](Writer& to, const Value& a, const Value& b) { return compare(to, "LT", a, b); }},
    {"less_equal",
     [](Writer& to, const Value& a, const Value& b) { return compare(to, "LE", a, b); }},
    {"greater", [](Writer& to, const Value& a, const Value& b) { return compare(to, "GT", a, b); }},
    {"greater_equal",
     [](Writer& to, const Value& a, const Value& b) { return compare(to, "GE", a, b); }},
    {"logical_and", both},
    {"logical_or", either},
    {"logical_xor",
     [](Writer& to, const Value& a, const Value& b) { return binary(to, "xor", a, b); }},
};

}  // namespace

void register_elementwise(LoweringTable& table) {
  for (const UnaryEntry& entry : kUnary) {
    table.add(entry.name,
              [lower = entry.lower](const KernelSpec&, std::span<const Value> in,
                                    Writer& to) -> Values { return {lower(to, in[0])}; });
  }
  for (const BinaryEntry& entry : kBinary) {
    table.add(entry.name,
              [lower = entry.lower](const KernelSpec& spec, std::span<const Value> in,
                                    Writer& to) -> Values {
                const Shape& shape = spec.outputs[0].shape;
                return {lower(to, spread(to, in[0], shape), spread(to, in[1], shape))};
              });
  }
  table.add("select", [](const KernelSpec& spec, std::span<const Value> in, Writer& to) -> Values {
    const Shape& shape = spec.outputs[0].shape;
    return {
        select(to, spread(to, in[0], shape), spread(to, in[1], shape), spread(to, in[2], shape))};
  });
  table.add("cast", [](const KernelSpec& spec, std::span<const Value> in, Writer& to) -> Values {
    return {cast(to, in[0], spec.outputs[0].dtype)};
  });
}

}  // namespace cornu::xla
