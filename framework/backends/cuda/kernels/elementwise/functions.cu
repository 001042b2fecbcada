// SPDX-License-Identifier: Apache-2.0
// The elementwise ops, as functions of computed values: op_NAME for the graph's op NAME.

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};

template <class T>
__device__ __forceinline__ bool is_signed() {
  return (T)-1 < (T)0;
}

// ---- floating-point numbers: library functions ----

#define CORNU_FLOAT_UNARY(NAME, OF_F32, OF_F64)                      \
  __device__ __forceinline__ f32 op_##NAME(f32 x) { return OF_F32; } \
  __device__ __forceinline__ f64 op_##NAME(f64 x) { return OF_F64; }

CORNU_FLOAT_UNARY(exp, expf(x), exp(x))
CORNU_FLOAT_UNARY(exp2, exp2f(x), exp2(x))
CORNU_FLOAT_UNARY(expm1, expm1f(x), expm1(x))
CORNU_FLOAT_UNARY(log, logf(x), log(x))
CORNU_FLOAT_UNARY(log1p, log1pf(x), log1p(x))
CORNU_FLOAT_UNARY(sqrt, sqrtf(x), sqrt(x))
CORNU_FLOAT_UNARY(rsqrt, 1.0f / sqrtf(x), 1.0 / sqrt(x))
CORNU_FLOAT_UNARY(reciprocal, 1.0f / x, 1.0 / x)
CORNU_FLOAT_UNARY(sin, sinf(x), sin(x))
CORNU_FLOAT_UNARY(cos, cosf(x), cos(x))
CORNU_FLOAT_UNARY(tan, tanf(x), tan(x))
CORNU_FLOAT_UNARY(asin, asinf(x), asin(x))
CORNU_FLOAT_UNARY(acos, acosf(x), acos(x))
CORNU_FLOAT_UNARY(atan, atanf(x), atan(x))
CORNU_FLOAT_UNARY(sinh, sinhf(x), sinh(x))
CORNU_FLOAT_UNARY(cosh, coshf(x), cosh(x))
CORNU_FLOAT_UNARY(tanh, tanhf(x), tanh(x))
CORNU_FLOAT_UNARY(erf, erff(x), erf(x))
CORNU_FLOAT_UNARY(erfc, erfcf(x), erfc(x))
CORNU_FLOAT_UNARY(erf_inv, (f32)erfinv((f64)x), erfinv(x))
CORNU_FLOAT_UNARY(sigmoid, 1.0f / (1.0f + expf(-x)), 1.0 / (1.0 + exp(-x)))
CORNU_FLOAT_UNARY(floor, floorf(x), floor(x))
CORNU_FLOAT_UNARY(ceil, ceilf(x), ceil(x))
CORNU_FLOAT_UNARY(round, rintf(x), rint(x))
CORNU_FLOAT_UNARY(negate, -x, -x)
CORNU_FLOAT_UNARY(abs, fabsf(x), fabs(x))
CORNU_FLOAT_UNARY(square, __fmul_rn(x, x), __dmul_rn(x, x))
CORNU_FLOAT_UNARY(relu, x < 0.0f ? 0.0f : x, x < 0.0 ? 0.0 : x)
CORNU_FLOAT_UNARY(sign, x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x),
                  x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x))

// The larger and the smaller value; NaN if either is.
#ifdef CORNU_SIMULATED
__device__ f32 larger_of(f32 a, f32 b) { return a != a ? a : (b != b ? b : fmaxf(a, b)); }
__device__ f32 smaller_of(f32 a, f32 b) { return a != a ? a : (b != b ? b : fminf(a, b)); }
#else
__device__ __forceinline__ f32 larger_of(f32 a, f32 b) {
  f32 result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ f32 smaller_of(f32 a, f32 b) {
  f32 result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
#endif

#define CORNU_FLOAT_BINARY(NAME, OF_F32, OF_F64)                            \
  __device__ __forceinline__ f32 op_##NAME(f32 a, f32 b) { return OF_F32; } \
  __device__ __forceinline__ f64 op_##NAME(f64 a, f64 b) { return OF_F64; }

CORNU_FLOAT_BINARY(add, a + b, a + b)
CORNU_FLOAT_BINARY(subtract, a - b, a - b)
// Products are rounded, as on the CPU: otherwise a multiplication and an addition would be
// contracted, and a function's results would differ from those of its ops.
CORNU_FLOAT_BINARY(multiply, __fmul_rn(a, b), __dmul_rn(a, b))
CORNU_FLOAT_BINARY(divide, a / b, a / b)
CORNU_FLOAT_BINARY(maximum, larger_of(a, b), a != a ? a : (b != b ? b : fmax(a, b)))
CORNU_FLOAT_BINARY(minimum, smaller_of(a, b), a != a ? a : (b != b ? b : fmin(a, b)))
CORNU_FLOAT_BINARY(power, powf(a, b), pow(a, b))
CORNU_FLOAT_BINARY(atan2, atan2f(a, b), atan2(a, b))
CORNU_FLOAT_BINARY(remainder, fmodf(a, b), fmod(a, b))
CORNU_FLOAT_BINARY(copysign, copysignf(a, b), copysign(a, b))

// Python's modulo: exact, with the sign of b.
template <class T>
__device__ __forceinline__ T float_mod(T a, T b) {
  const T rest = op_remainder(a, b);
  if (rest == (T)0) return op_copysign(rest, b);
  return (rest < (T)0) != (b < (T)0) ? rest + b : rest;
}
template <class T>
__device__ __forceinline__ T float_floor_divide(T a, T b) {
  const bool is_infinite = a - a != (T)0;  // or NaN
  if (b == (T)0 || b != b || is_infinite) return a / b;
  const T quotient = (a - float_mod(a, b)) / b;  // close to an integer
  const T rounded = op_floor(quotient);
  return quotient - rounded > (T)0.5 ? rounded + (T)1 : rounded;
}
CORNU_FLOAT_BINARY(mod, float_mod(a, b), float_mod(a, b))
CORNU_FLOAT_BINARY(floor_divide, float_floor_divide(a, b), float_floor_divide(a, b))

template <class T>
__device__ __forceinline__ bool op_is_nan(T x) {
  return x != x;
}
__device__ __forceinline__ bool op_is_inf(f32 x) { return fabsf(x) == CORNU_INFINITY; }
__device__ __forceinline__ bool op_is_inf(f64 x) { return fabs(x) == (f64)CORNU_INFINITY; }
__device__ __forceinline__ bool op_is_finite(f32 x) { return fabsf(x) < CORNU_INFINITY; }
__device__ __forceinline__ bool op_is_finite(f64 x) { return fabs(x) < (f64)CORNU_INFINITY; }
template <class T>
__device__ __forceinline__ bool op_is_inf(T) {
  return false;
}
template <class T>
__device__ __forceinline__ bool op_is_finite(T) {
  return true;
}

// ---- integers: wrap around; division by zero yields 0 ----

template <class T>
__device__ __forceinline__ T op_negate(T a) {
  return (T)(0ull - (u64)a);
}
template <class T>
__device__ __forceinline__ T op_abs(T a) {
  return a < (T)0 ? op_negate(a) : a;
}
template <class T>
__device__ __forceinline__ T op_sign(T a) {
  return (T)((a > (T)0) - (a < (T)0));
}
template <class T>
__device__ __forceinline__ T op_square(T a) {
  return (T)((u64)a * (u64)a);
}
template <class T>
__device__ __forceinline__ T op_relu(T a) {
  return a < (T)0 ? (T)0 : a;
}
template <class T>
__device__ __forceinline__ T op_floor(T a) {
  return a;
}
template <class T>
__device__ __forceinline__ T op_ceil(T a) {
  return a;
}
template <class T>
__device__ __forceinline__ T op_round(T a) {
  return a;
}
template <class T>
__device__ __forceinline__ T op_add(T a, T b) {
  return (T)((u64)a + (u64)b);
}
template <class T>
__device__ __forceinline__ T op_subtract(T a, T b) {
  return (T)((u64)a - (u64)b);
}
template <class T>
__device__ __forceinline__ T op_multiply(T a, T b) {
  return (T)((u64)a * (u64)b);
}
template <class T>
__device__ __forceinline__ T op_maximum(T a, T b) {
  return a < b ? b : a;
}
template <class T>
__device__ __forceinline__ T op_minimum(T a, T b) {
  return b < a ? b : a;
}
template <class T>
__device__ __forceinline__ T op_floor_divide(T a, T b) {
  if (b == (T)0) return (T)0;
  if (is_signed<T>() && b == (T)-1) return op_negate(a);  // the lowest number wraps
  const T quotient = (T)(a / b);
  return (T)(a % b != 0 && (a < (T)0) != (b < (T)0) ? quotient - 1 : quotient);
}
template <class T>
__device__ __forceinline__ T op_mod(T a, T b) {
  if (b == (T)0 || (is_signed<T>() && b == (T)-1)) return (T)0;
  const T rest = (T)(a % b);
  return (T)(rest != 0 && (rest < (T)0) != (b < (T)0) ? rest + b : rest);
}
// A negative exponent yields the reciprocal, rounded toward zero.
template <class T>
__device__ __forceinline__ T op_power(T base, T exponent) {
  if (is_signed<T>() && exponent < (T)0) {
    if (base == (T)1) return (T)1;
    if (base == (T)-1) return exponent % 2 == 0 ? (T)1 : (T)-1;
    return (T)0;
  }
  u64 result = 1;
  u64 square = (u64)base;
  for (u64 left = (u64)exponent & (~0ull >> (64 - 8 * sizeof(T))); left != 0; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return (T)result;
}
template <class T>
__device__ __forceinline__ T op_bitwise_and(T a, T b) {
  return (T)(a & b);
}
template <class T>
__device__ __forceinline__ T op_bitwise_or(T a, T b) {
  return (T)(a | b);
}
template <class T>
__device__ __forceinline__ T op_bitwise_xor(T a, T b) {
  return (T)(a ^ b);
}
// Shifts by at least T's number of bits, and by negative numbers, shift every bit out.
template <class T>
__device__ __forceinline__ T op_left_shift(T a, T b) {
  const bool fits = (!is_signed<T>() || b >= (T)0) && (u64)b < 8 * sizeof(T);
  return fits ? (T)((u64)a << (u64)b) : (T)0;
}
template <class T>
__device__ __forceinline__ T op_right_shift(T a, T b) {
  const bool fits = (!is_signed<T>() || b >= (T)0) && (u64)b < 8 * sizeof(T);
  return fits ? (T)(a >> b) : (T)(is_signed<T>() && a < (T)0 ? -1 : 0);
}

// ---- bool: add is "or", multiply is "and" ----

__device__ __forceinline__ boolean op_add(boolean a, boolean b) { return a | b; }
__device__ __forceinline__ boolean op_multiply(boolean a, boolean b) { return a & b; }
__device__ __forceinline__ boolean op_maximum(boolean a, boolean b) { return a | b; }
__device__ __forceinline__ boolean op_minimum(boolean a, boolean b) { return a & b; }
__device__ __forceinline__ boolean op_logical_not(boolean a) { return !a; }
__device__ __forceinline__ boolean op_logical_and(boolean a, boolean b) { return a & b; }
__device__ __forceinline__ boolean op_logical_or(boolean a, boolean b) { return a | b; }
__device__ __forceinline__ boolean op_logical_xor(boolean a, boolean b) { return a != b; }

// ---- all types ----

template <class T>
__device__ __forceinline__ boolean op_equal(T a, T b) {
  return a == b;
}
template <class T>
__device__ __forceinline__ boolean op_not_equal(T a, T b) {
  return a != b;
}
template <class T>
__device__ __forceinline__ boolean op_less(T a, T b) {
  return a < b;
}
template <class T>
__device__ __forceinline__ boolean op_less_equal(T a, T b) {
  return a <= b;
}
template <class T>
__device__ __forceinline__ boolean op_greater(T a, T b) {
  return a > b;
}
template <class T>
__device__ __forceinline__ boolean op_greater_equal(T a, T b) {
  return a >= b;
}
template <class T>
__device__ __forceinline__ T op_select(boolean condition, T a, T b) {
  return condition ? a : b;
}

// ---- conversions ----

template <class T>
struct Limits;
#define CORNU_LIMITS(T, LOWEST, HIGHEST)                                   \
  template <>                                                              \
  struct Limits<T> {                                                       \
    __device__ __forceinline__ static T lowest() { return (T)(LOWEST); }   \
    __device__ __forceinline__ static T highest() { return (T)(HIGHEST); } \
  };
CORNU_LIMITS(u8, 0, 255)
CORNU_LIMITS(i8, -128, 127)
CORNU_LIMITS(i32, 0x80000000u, 0x7fffffff)
CORNU_LIMITS(u32, 0, 0xffffffffu)
CORNU_LIMITS(i64, 0x8000000000000000ull, 0x7fffffffffffffffll)
CORNU_LIMITS(u64, 0, 0xffffffffffffffffull)

template <class To, class From>
struct Conversion {
  __device__ __forceinline__ static To of(From x) { return (To)x; }
};
template <class From>
struct Conversion<boolean, From> {
  __device__ __forceinline__ static boolean of(From x) { return x != (From)0; }
};
// Out of range: the nearest number; NaN: 0. As a floating-point value, the highest number may be
// rounded up out of range.
template <class To, class From>
__device__ __forceinline__ To saturate(From x) {
  if (x != x) return (To)0;
  if (x >= (From)Limits<To>::highest()) return Limits<To>::highest();
  if (x <= (From)Limits<To>::lowest()) return Limits<To>::lowest();
  return (To)x;
}
#define CORNU_SATURATES(T)                                                   \
  template <>                                                                \
  struct Conversion<T, f32> {                                                \
    __device__ __forceinline__ static T of(f32 x) { return saturate<T>(x); } \
  };                                                                         \
  template <>                                                                \
  struct Conversion<T, f64> {                                                \
    __device__ __forceinline__ static T of(f64 x) { return saturate<T>(x); } \
  };
CORNU_SATURATES(u8)
CORNU_SATURATES(i8)
CORNU_SATURATES(i32)
CORNU_SATURATES(u32)
CORNU_SATURATES(i64)
CORNU_SATURATES(u64)

// convert<To>(x) between computed values.
template <class To, class From>
__device__ __forceinline__ To convert(From x) {
  return Conversion<To, From>::of(x);
}
