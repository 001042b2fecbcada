// SPDX-License-Identifier: Apache-2.0
// Mappings that depend on whether numbers are integers, and on their width.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "framework/saving/onnx/integers.h"
#include "framework/saving/onnx/mappings.h"

namespace cornu::onnx {
namespace {

bool is_common(DType dtype) {
  return is_floating(dtype) || dtype == DType::Int32 || dtype == DType::Int64;
}

std::string as_int64(NodeWriter& n, size_t i) { return n.cast(n.in(i), n.dtype(i), DType::Int64); }

// Maps int64 numbers that represent unsigned ones to numbers in the same order.
std::string ordered(NodeWriter& n, const std::string& bits) {
  const double lowest = static_cast<double>(std::numeric_limits<int64_t>::min());
  return n.add("BitwiseXor", {bits, n.scalar(lowest, DType::Int64)});
}

// Inputs for which a comparison has the same outcome as for the given ones.
Names comparable(NodeWriter& n) {
  if (is_common(n.dtype()) || n.dtype() == DType::Bool) return n.all_in();
  Names inputs = {as_int64(n, 0), as_int64(n, 1)};
  if (n.dtype() == DType::UInt64) inputs = {ordered(n, inputs[0]), ordered(n, inputs[1])};
  return inputs;
}

std::string compared(NodeWriter& n, const char* op) { return n.add(op, comparable(n)); }

void write_equal(NodeWriter& n) { n.give(compared(n, "Equal")); }
void write_not_equal(NodeWriter& n) { n.give(n.add("Not", {compared(n, "Equal")})); }
void write_less(NodeWriter& n) { n.give(compared(n, "Less")); }
void write_less_equal(NodeWriter& n) { n.give(compared(n, "LessOrEqual")); }
void write_greater(NodeWriter& n) { n.give(compared(n, "Greater")); }
void write_greater_equal(NodeWriter& n) { n.give(compared(n, "GreaterOrEqual")); }

void write_subtract(NodeWriter& n) { n.give(in_common_dtype(n, "Sub")); }
void write_multiply(NodeWriter& n) { n.give(in_common_dtype(n, "Mul")); }

void write_select(NodeWriter& n) {
  const DType dtype = n.dtype(1);
  if (is_common(dtype) || dtype == DType::UInt8) return n.give(n.add("Where", n.all_in()));
  const std::string chosen = n.add("Where", {n.in(0), as_int64(n, 1), as_int64(n, 2)});
  n.give(n.cast(chosen, DType::Int64, dtype));
}

// Whether an operand is a constant whose numbers all satisfy `like`.
bool is_known(NodeWriter& n, size_t i, const std::function<bool(double)>& like) {
  const auto value = n.constant(i);
  bool known = value.has_value();
  if (!known) return false;
  dispatch_dtype(value->dtype(), [&](auto zero) {
    for (const auto number : value->data<decltype(zero)>()) {
      known &= like(static_cast<double>(number));
    }
  });
  return known;
}

// Integer division in a common dtype: dividing by 0 yields 0, which runtimes don't support.
struct Division {
  DType dtype;
  std::string x;
  std::string y;        // with 1 in place of 0
  std::string by_zero;  // where y is 0; "": nowhere
};

Division division(NodeWriter& n) {
  const DType dtype = is_common(n.dtype()) ? n.dtype() : DType::Int64;
  Division result = {
      dtype, n.cast(n.in(0), n.dtype(), dtype), n.cast(n.in(1), n.dtype(), dtype), {}};
  if (!is_known(n, 1, [](double number) { return number != 0; })) {
    result.by_zero = n.add("Equal", {result.y, n.scalar(0, dtype)});
    result.y = n.add("Where", {result.by_zero, n.scalar(1, dtype), result.y});
  }
  return result;
}

std::string finished(NodeWriter& n, const Division& division, std::string result) {
  if (!division.by_zero.empty()) {
    result = n.add("Where", {division.by_zero, n.scalar(0, division.dtype), result});
  }
  return n.cast(result, division.dtype, n.dtype());
}

// Computed in int64. Half of a number is below 2^63, and its quotient, doubled, is at most one too
// small. Divisors from 2^63 on, which are negative in int64, yield 0.
std::string unsigned_quotient(NodeWriter& n, const Division& division) {
  const auto number = [&n](double value) { return n.scalar(value, DType::Int64); };
  const std::string shifted = n.add("BitShift", {n.in(0), n.scalar(1)}, text("direction", "RIGHT"));
  const std::string half = n.cast(shifted, DType::UInt64, DType::Int64);
  const std::string& y = division.y;
  const std::string small = n.cast(n.add("Greater", {y, number(0)}), DType::Bool, DType::Int64);
  const std::string twice =
      n.add("Mul", {n.add("Mul", {small, number(2)}), n.add("Div", {half, y})});
  const std::string rest = n.add("Sub", {division.x, n.add("Mul", {twice, y})});
  const std::string more = n.add("GreaterOrEqual", {ordered(n, rest), ordered(n, y)});
  return n.add("Add", {twice, n.cast(more, DType::Bool, DType::Int64)});
}

// ONNX's integer Div truncates: the quotient is one too high if there is a remainder and the
// operands' signs differ.
std::string floor_quotient(NodeWriter& n) {
  if (is_floating(n.dtype())) return n.add("Floor", {n.add("Div", n.all_in())});
  const Division given = division(n);
  if (n.dtype() == DType::UInt64) return finished(n, given, unsigned_quotient(n, given));
  const std::string quotient = n.add("Div", {given.x, given.y});
  if (!is_signed(n.dtype())) return finished(n, given, quotient);
  const std::string zero = n.scalar(0, given.dtype);
  const std::string even = n.add("Equal", {n.add("Mod", {given.x, given.y}), zero});
  const std::string below =
      n.add("Xor", {n.add("Less", {given.x, zero}), n.add("Less", {given.y, zero})});
  const std::string high = n.add("And", {n.add("Not", {even}), below});
  return finished(n, given, n.add("Sub", {quotient, n.cast(high, DType::Bool, given.dtype)}));
}

void write_floor_divide(NodeWriter& n) { n.give(floor_quotient(n)); }

void write_mod(NodeWriter& n) {
  if (is_floating(n.dtype())) {
    return n.give(n.add("Sub", {n.in(0), n.add("Mul", {floor_quotient(n), n.in(1)})}));
  }
  const Division given = division(n);
  const DType dtype = n.dtype() == DType::UInt64 ? DType::UInt64 : given.dtype;
  const std::string rest =
      n.add("Mod", {n.cast(given.x, given.dtype, dtype), n.cast(given.y, given.dtype, dtype)});
  n.give(finished(n, given, n.cast(rest, dtype, given.dtype)));
}

// Shifts signed integers, which ONNX doesn't support, by a known number: in int64, where a
// remainder has the sign of the divisor.
void write_signed_shift(NodeWriter& n, bool left) {
  const auto bits = static_cast<int>(8 * size_of(n.dtype()));
  double by = -1;
  const bool is_one = is_known(n, 1, [&](double number) {
    const bool is_same = by < 0 || number == by;
    by = number;
    return is_same && number >= 0 && number < bits;
  });
  if (!is_one || by < 0 || bits > 32) {
    n.refuse("ONNX shifts signed integers of up to 32 bits by a known number only");
  }
  const auto power = [&](int exponent) {
    return n.scalar(std::ldexp(1.0, exponent), DType::Int64);
  };
  const std::string x = as_int64(n, 0);
  const std::string factor = power(static_cast<int>(by));
  std::string result;
  if (left) {  // bits beyond the width are lost
    const std::string half = power(bits - 1);
    const std::string above = n.add("Add", {n.add("Mul", {x, factor}), half});
    result = n.add("Sub", {n.add("Mod", {above, power(bits)}), half});
  } else {
    result = n.add("Div", {n.add("Sub", {x, n.add("Mod", {x, factor})}), factor});
  }
  n.give(n.cast(result, DType::Int64, n.dtype()));
}

// Shifts by the full width or more yield 0, which ONNX leaves undefined.
void write_shift(NodeWriter& n, const char* direction) {
  if (is_signed(n.dtype())) return write_signed_shift(n, direction[0] == 'L');
  const std::string shifted = n.add("BitShift", n.all_in(), text("direction", direction));
  const auto bits = static_cast<double>(8 * size_of(n.dtype()));
  if (is_known(n, 1, [bits](double number) { return number < bits; })) return n.give(shifted);
  const std::string limit = n.scalar(bits, DType::Int64);
  const std::string stays = n.add("Less", {ordered(n, as_int64(n, 1)), ordered(n, limit)});
  const std::string wide = n.cast(shifted, n.dtype(), DType::Int64);
  const std::string chosen = n.add("Where", {stays, wide, n.scalar(0, DType::Int64)});
  n.give(n.cast(chosen, DType::Int64, n.dtype()));
}

void write_left_shift(NodeWriter& n) { write_shift(n, "LEFT"); }
void write_right_shift(NodeWriter& n) { write_shift(n, "RIGHT"); }

const Mapping kOfIntegers[] = {
    {"equal", nullptr, write_equal},
    {"floor_divide", nullptr, write_floor_divide},
    {"greater", nullptr, write_greater},
    {"greater_equal", nullptr, write_greater_equal},
    {"left_shift", nullptr, write_left_shift},
    {"less", nullptr, write_less},
    {"less_equal", nullptr, write_less_equal},
    {"mod", nullptr, write_mod},
    {"multiply", nullptr, write_multiply},
    {"not_equal", nullptr, write_not_equal},
    {"right_shift", nullptr, write_right_shift},
    {"select", nullptr, write_select},
    {"subtract", nullptr, write_subtract},
};

}  // namespace

std::span<const Mapping> integer_mappings() { return kOfIntegers; }

std::string in_common_dtype(NodeWriter& n, const char* op) {
  if (is_common(n.dtype())) return n.add(op, n.all_in());
  const std::string wide = n.add(op, {as_int64(n, 0), as_int64(n, 1)});
  return n.cast(wide, DType::Int64, n.dtype());
}

}  // namespace cornu::onnx
