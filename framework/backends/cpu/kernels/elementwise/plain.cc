// SPDX-License-Identifier: Apache-2.0
// Tile functions as plain loops, which the compiler vectorizes: for integers, bool, and operations
// of the C library.
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "framework/backends/cpu/kernels/elementwise/ops.h"
#include "framework/backends/cpu/kernels/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/elementwise/plain.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

// Loops of their own for scalars, so that the compiler vectorizes each.
template <class In, class Out, Out (*kFunction)(In)>
void map_plain(const TileArgs& args, size_t count) {
  const auto* a = static_cast<const In*>(args.operand[0].data);
  auto* out = static_cast<Out*>(args.out());
  if (args.operand[0].step != 0) {
    for (size_t i = 0; i < count; ++i) out[i] = kFunction(a[i]);
  } else {
    const Out value = kFunction(*a);
    for (size_t i = 0; i < count; ++i) out[i] = value;
  }
}

template <class In, class Out, Out (*kFunction)(In, In)>
void map_plain(const TileArgs& args, size_t count) {
  const auto* a = static_cast<const In*>(args.operand[0].data);
  const auto* b = static_cast<const In*>(args.operand[1].data);
  auto* out = static_cast<Out*>(args.out());
  if (args.operand[0].step != 0 && args.operand[1].step != 0) {
    for (size_t i = 0; i < count; ++i) out[i] = kFunction(a[i], b[i]);
  } else if (args.operand[0].step != 0) {
    const In scalar = *b;
    for (size_t i = 0; i < count; ++i) out[i] = kFunction(a[i], scalar);
  } else {
    const In scalar = *a;
    if (args.operand[1].step != 0) {
      for (size_t i = 0; i < count; ++i) out[i] = kFunction(scalar, b[i]);
    } else {
      const Out value = kFunction(scalar, *b);
      for (size_t i = 0; i < count; ++i) out[i] = value;
    }
  }
}

template <class T>
void plain_select(const TileArgs& args, size_t count) {
  const auto* condition = static_cast<const uint8_t*>(args.operand[0].data);
  const auto* a = static_cast<const T*>(args.operand[1].data);
  const auto* b = static_cast<const T*>(args.operand[2].data);
  auto* out = static_cast<T*>(args.out());
  const size_t steps[] = {args.operand[0].step, args.operand[1].step, args.operand[2].step};
  for (size_t i = 0; i < count; ++i) {
    out[i] = condition[i * steps[0]] != 0 ? a[i * steps[1]] : b[i * steps[2]];
  }
}

// ---- integers: arithmetic wraps around; division by zero gives 0 ----

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
T negate(T a) {
  return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
}
template <class T>
T floor_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return negate(a);  // the lowest number wraps
    const T quotient = static_cast<T>(a / b);
    return static_cast<T>((a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient);
  } else {
    return static_cast<T>(a / b);
  }
}
template <class T>
T mod(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
    const T rest = static_cast<T>(a % b);
    return static_cast<T>((rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest);
  } else {
    return static_cast<T>(a % b);
  }
}
// A negative exponent gives the reciprocal, rounded to zero.
template <class T>
T power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? 1 : -1;
      return 0;
    }
  }
  Unsigned<T> result = 1;
  auto square = static_cast<Unsigned<T>>(base);
  for (auto left = static_cast<Unsigned<T>>(exponent); left != 0; left >>= 1) {
    if (left & 1) result = static_cast<Unsigned<T>>(uint64_t{result} * square);
    square = static_cast<Unsigned<T>>(uint64_t{square} * square);
  }
  return static_cast<T>(result);
}

// Shifts by more bits than T has, and by negative ones, move every bit out.
template <class T>
constexpr Unsigned<T> kBits = static_cast<Unsigned<T>>(8 * sizeof(T));

template <class T>
T left_shift(T a, T b) {
  const auto by = static_cast<Unsigned<T>>(b);
  const auto shifted = static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) << (by % kBits<T>));
  return by < kBits<T> ? static_cast<T>(shifted) : T{0};
}
template <class T>
T right_shift(T a, T b) {
  const auto by = static_cast<Unsigned<T>>(b);
  const T sign = a < T{0} ? static_cast<T>(-1) : T{0};
  return by < kBits<T> ? static_cast<T>(a >> (by % kBits<T>)) : sign;
}

template <class T, TileOp kOp>
T integer_unary(T a) {
  if constexpr (kOp == TileOp::Negate) return negate(a);
  if constexpr (kOp == TileOp::Abs) return a < T{0} ? negate(a) : a;
  if constexpr (kOp == TileOp::Sign) return static_cast<T>((a > T{0}) - (a < T{0}));
  if constexpr (kOp == TileOp::Square) {
    return static_cast<T>(uint64_t{static_cast<Unsigned<T>>(a)} * static_cast<Unsigned<T>>(a));
  }
  if constexpr (kOp == TileOp::Relu) return a < T{0} ? T{0} : a;
  return a;  // Floor, Ceil, Round
}

template <class T, TileOp kOp>
T integer_binary(T a, T b) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  if constexpr (kOp == TileOp::Add) return static_cast<T>(x + y);
  if constexpr (kOp == TileOp::Subtract) return static_cast<T>(x - y);
  if constexpr (kOp == TileOp::Multiply) return static_cast<T>(x * y);
  if constexpr (kOp == TileOp::Maximum) return a < b ? b : a;
  if constexpr (kOp == TileOp::Minimum) return b < a ? b : a;
  if constexpr (kOp == TileOp::Power) return power(a, b);
  if constexpr (kOp == TileOp::FloorDivide) return floor_divide(a, b);
  if constexpr (kOp == TileOp::Mod) return mod(a, b);
  if constexpr (kOp == TileOp::BitwiseAnd) return static_cast<T>(x & y);
  if constexpr (kOp == TileOp::BitwiseOr) return static_cast<T>(x | y);
  if constexpr (kOp == TileOp::BitwiseXor) return static_cast<T>(x ^ y);
  if constexpr (kOp == TileOp::LeftShift) return left_shift(a, b);
  if constexpr (kOp == TileOp::RightShift) return right_shift(a, b);
}

template <class T, TileOp kOp>
bool compare(T a, T b) {
  if constexpr (kOp == TileOp::Equal) return a == b;
  if constexpr (kOp == TileOp::NotEqual) return a != b;
  if constexpr (kOp == TileOp::Less) return a < b;
  if constexpr (kOp == TileOp::LessEqual) return a <= b;
  if constexpr (kOp == TileOp::Greater) return a > b;
  if constexpr (kOp == TileOp::GreaterEqual) return a >= b;
}

template <class T, bool kValue>
bool always(T) {
  return kValue;
}

template <class T>
TileFn compare_function(TileOp op) {
  switch (op) {
    case TileOp::Equal:
      return map_plain<T, bool, compare<T, TileOp::Equal>>;
    case TileOp::NotEqual:
      return map_plain<T, bool, compare<T, TileOp::NotEqual>>;
    case TileOp::Less:
      return map_plain<T, bool, compare<T, TileOp::Less>>;
    case TileOp::LessEqual:
      return map_plain<T, bool, compare<T, TileOp::LessEqual>>;
    case TileOp::Greater:
      return map_plain<T, bool, compare<T, TileOp::Greater>>;
    case TileOp::GreaterEqual:
      return map_plain<T, bool, compare<T, TileOp::GreaterEqual>>;
    default:
      return nullptr;
  }
}

template <class T>
TileFn integer_function(TileOp op) {
  switch (op) {
    case TileOp::Copy:
    case TileOp::Floor:
    case TileOp::Ceil:
    case TileOp::Round:
      return map_plain<T, T, integer_unary<T, TileOp::Copy>>;
    case TileOp::Negate:
      return map_plain<T, T, integer_unary<T, TileOp::Negate>>;
    case TileOp::Abs:
      return map_plain<T, T, integer_unary<T, TileOp::Abs>>;
    case TileOp::Sign:
      return map_plain<T, T, integer_unary<T, TileOp::Sign>>;
    case TileOp::Square:
      return map_plain<T, T, integer_unary<T, TileOp::Square>>;
    case TileOp::Relu:
      return map_plain<T, T, integer_unary<T, TileOp::Relu>>;
    case TileOp::IsNan:
    case TileOp::IsInf:
      return map_plain<T, bool, always<T, false>>;
    case TileOp::IsFinite:
      return map_plain<T, bool, always<T, true>>;
    case TileOp::Add:
      return map_plain<T, T, integer_binary<T, TileOp::Add>>;
    case TileOp::Subtract:
      return map_plain<T, T, integer_binary<T, TileOp::Subtract>>;
    case TileOp::Multiply:
      return map_plain<T, T, integer_binary<T, TileOp::Multiply>>;
    case TileOp::Maximum:
      return map_plain<T, T, integer_binary<T, TileOp::Maximum>>;
    case TileOp::Minimum:
      return map_plain<T, T, integer_binary<T, TileOp::Minimum>>;
    case TileOp::Power:
      return map_plain<T, T, integer_binary<T, TileOp::Power>>;
    case TileOp::FloorDivide:
      return map_plain<T, T, integer_binary<T, TileOp::FloorDivide>>;
    case TileOp::Mod:
      return map_plain<T, T, integer_binary<T, TileOp::Mod>>;
    case TileOp::BitwiseAnd:
      return map_plain<T, T, integer_binary<T, TileOp::BitwiseAnd>>;
    case TileOp::BitwiseOr:
      return map_plain<T, T, integer_binary<T, TileOp::BitwiseOr>>;
    case TileOp::BitwiseXor:
      return map_plain<T, T, integer_binary<T, TileOp::BitwiseXor>>;
    case TileOp::LeftShift:
      return map_plain<T, T, integer_binary<T, TileOp::LeftShift>>;
    case TileOp::RightShift:
      return map_plain<T, T, integer_binary<T, TileOp::RightShift>>;
    default:
      return compare_function<T>(op);
  }
}

// ---- bool: add is "or", multiply is "and" ----

// Of a bool's byte: GCC doesn't vectorize loops over `!a`.
uint8_t logical_not(uint8_t a) { return a ^ 1; }
bool logical_and(bool a, bool b) { return a & b; }
bool logical_or(bool a, bool b) { return a | b; }
bool logical_xor(bool a, bool b) { return a != b; }
bool same(bool a) { return a; }

TileFn bool_function(TileOp op) {
  switch (op) {
    case TileOp::Copy:
      return map_plain<bool, bool, same>;
    case TileOp::LogicalNot:
      return map_plain<uint8_t, uint8_t, logical_not>;
    case TileOp::LogicalAnd:
    case TileOp::Multiply:
    case TileOp::Minimum:
      return map_plain<bool, bool, logical_and>;
    case TileOp::LogicalOr:
    case TileOp::Add:
    case TileOp::Maximum:
      return map_plain<bool, bool, logical_or>;
    case TileOp::LogicalXor:
      return map_plain<bool, bool, logical_xor>;
    default:
      return compare_function<bool>(op);
  }
}

// ---- floating-point operations without a vector form ----

template <class T>
T power_of(T a, T b) {
  return std::pow(a, b);
}
template <class T>
T arctangent(T a, T b) {
  return std::atan2(a, b);
}

template <class T>
T erf_complement(T x) {
  return std::erfc(x);
}

// Winitzki's approximation, then Halley's iteration, which triples the good digits each time.
template <class T>
T erf_inverse(T value) {
  const double x = value;
  const double magnitude = std::abs(x);
  if (!(magnitude < 1)) {
    return static_cast<T>(magnitude == 1 ? x * std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::quiet_NaN());
  }
  if (magnitude < 1e-8) return static_cast<T>(x * (0.5 / std::numbers::inv_sqrtpi));
  const double log = std::log1p(-x * x);
  const double middle = 2 / (std::numbers::pi * 0.147) + 0.5 * log;
  double y = std::sqrt(std::sqrt(middle * middle - log / 0.147) - middle);
  for (int i = 0; i < 3; ++i) {
    const double error = magnitude < 0.5 ? std::erf(y) - magnitude : (1 - magnitude) - std::erfc(y);
    y -= error / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y) + y * error);
  }
  return static_cast<T>(std::copysign(y, x));
}

template <class T>
TileFn float_function(TileOp op) {
  switch (op) {
    case TileOp::Erfc:
      return map_plain<T, T, erf_complement<T>>;
    case TileOp::ErfInv:
      return map_plain<T, T, erf_inverse<T>>;
    case TileOp::Power:
      return map_plain<T, T, power_of<T>>;
    case TileOp::Atan2:
      return map_plain<T, T, arctangent<T>>;
    default:
      return nullptr;
  }
}

TileFn find_plain(TileOp op, DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return bool_function(op);
    case DType::UInt8:
      return integer_function<uint8_t>(op);
    case DType::Int8:
      return integer_function<int8_t>(op);
    case DType::Int32:
      return integer_function<int32_t>(op);
    case DType::Int64:
      return integer_function<int64_t>(op);
    case DType::UInt32:
      return integer_function<uint32_t>(op);
    case DType::UInt64:
      return integer_function<uint64_t>(op);
    case DType::Float16:
    case DType::BFloat16:
      return op == TileOp::Copy
                 ? map_plain<uint16_t, uint16_t, integer_unary<uint16_t, TileOp::Copy>>
                 : nullptr;
    case DType::Float32:
      return float_function<float>(op);
    case DType::Float64:
      return float_function<double>(op);
    case DType::String:
      break;
  }
  return nullptr;
}

TileFn find_plain_select() { return plain_select<uint8_t>; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(find_plain);
HWY_EXPORT(find_plain_select);

TileFn plain_tile(TileOp op, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_plain)(op, dtype); }

TileFn plain_select_tile(DType dtype) {
  return size_of(dtype) == 1 ? HWY_DYNAMIC_DISPATCH(find_plain_select)() : nullptr;
}

}  // namespace cornu::cpu
#endif
