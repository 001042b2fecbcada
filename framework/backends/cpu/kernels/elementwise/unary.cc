// SPDX-License-Identifier: Apache-2.0
// Tile functions of one operand, for float32 and float64.
#include "framework/backends/cpu/kernels/elementwise/ops.h"
#include "framework/backends/cpu/kernels/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/elementwise/unary.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/elementwise/erf.inc"
#include "framework/backends/cpu/kernels/elementwise/math.inc"
#include "framework/backends/cpu/kernels/elementwise/simd.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

template <TileOp kOp>
struct Unary {
  static constexpr bool kLong = kOp != TileOp::Copy && kOp != TileOp::Negate &&
                                kOp != TileOp::Abs && kOp != TileOp::Square && kOp != TileOp::Relu;

  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V one = constant(d, 1);
    const V zero = hn::Zero(d);
    if constexpr (kOp == TileOp::Negate) return hn::Neg(x);
    if constexpr (kOp == TileOp::Abs) return hn::Abs(x);
    if constexpr (kOp == TileOp::Sign) {
      return hn::IfThenElse(hn::Gt(x, zero), one, hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), x));
    }
    if constexpr (kOp == TileOp::Exp) return vec_exp(d, x);
    if constexpr (kOp == TileOp::Exp2) return vec_exp2(d, x);
    if constexpr (kOp == TileOp::Expm1) return vec_expm1(d, x);
    if constexpr (kOp == TileOp::Log) return vec_log(d, x);
    if constexpr (kOp == TileOp::Log1p) return vec_log1p(d, x);
    if constexpr (kOp == TileOp::Sqrt) return hn::Sqrt(x);
    if constexpr (kOp == TileOp::Rsqrt) return hn::Div(one, hn::Sqrt(x));
    if constexpr (kOp == TileOp::Square) return hn::Mul(x, x);
    if constexpr (kOp == TileOp::Reciprocal) return hn::Div(one, x);
    if constexpr (kOp == TileOp::Sin) return vec_sin(d, x);
    if constexpr (kOp == TileOp::Cos) return vec_cos(d, x);
    if constexpr (kOp == TileOp::Tan) return vec_tan(d, x);
    if constexpr (kOp == TileOp::Asin) return vec_asin(d, x);
    if constexpr (kOp == TileOp::Acos) return vec_acos(d, x);
    if constexpr (kOp == TileOp::Atan) return vec_atan(d, x);
    if constexpr (kOp == TileOp::Sinh) return vec_sinh(d, x);
    if constexpr (kOp == TileOp::Cosh) return vec_cosh(d, x);
    if constexpr (kOp == TileOp::Tanh) return vec_tanh(d, x);
    if constexpr (kOp == TileOp::Erf) return vec_erf(d, x);
    if constexpr (kOp == TileOp::Erfc) return vec_erfc(d, x);
    if constexpr (kOp == TileOp::ErfInv) return vec_erf_inverse(d, x);
    if constexpr (kOp == TileOp::Floor) return hn::Floor(x);
    if constexpr (kOp == TileOp::Ceil) return hn::Ceil(x);
    if constexpr (kOp == TileOp::Round) return hn::Round(x);
    if constexpr (kOp == TileOp::Relu) return hn::IfThenElse(hn::Lt(x, zero), zero, x);
    if constexpr (kOp == TileOp::Sigmoid) return vec_sigmoid(d, x);
    return x;  // Copy
  }
};

template <TileOp kOp>
struct Classify {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, V x) const {
    if constexpr (kOp == TileOp::IsNan) return mask_to_bytes(d, hn::IsNaN(x));
    if constexpr (kOp == TileOp::IsInf) return mask_to_bytes(d, hn::IsInf(x));
    if constexpr (kOp == TileOp::IsFinite) return mask_to_bytes(d, hn::IsFinite(x));
  }
};

template <class T, TileOp kOp>
void classify_tile(const TileArgs& args, size_t count) {
  const hn::ScalableTag<T> d;
  map_readers(d, ByteTag<decltype(d)>(), args.out(), count, Classify<kOp>(),
              Reader<T>(args.operand[0]));
}

// The function for `op`, which is between Copy and `kOp`.
template <class T, TileOp kOp>
TileFn find(TileOp op) {
  if (op == kOp) return map_tile<T, Unary<kOp>, 1>;
  if constexpr (kOp == TileOp::Copy) {
    return nullptr;
  } else {
    return find<T, static_cast<TileOp>(static_cast<int>(kOp) - 1)>(op);
  }
}

template <class T>
TileFn unary(TileOp op) {
  if (op == TileOp::IsNan) return classify_tile<T, TileOp::IsNan>;
  if (op == TileOp::IsInf) return classify_tile<T, TileOp::IsInf>;
  if (op == TileOp::IsFinite) return classify_tile<T, TileOp::IsFinite>;
#if !HWY_NATIVE_FMA
  if (op == TileOp::Erfc && std::is_same_v<T, double>) return nullptr;  // the C library's
#endif
  return find<T, TileOp::Sigmoid>(op);
}

TileFn find_unary(TileOp op, DType dtype) {
  return dtype == DType::Float32 ? unary<float>(op) : unary<double>(op);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(find_unary);

TileFn float_unary_tile(TileOp op, DType dtype) {
  if (dtype != DType::Float32 && dtype != DType::Float64) return nullptr;
  return HWY_DYNAMIC_DISPATCH(find_unary)(op, dtype);
}

}  // namespace cornu::cpu
#endif
