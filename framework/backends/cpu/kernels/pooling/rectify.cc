// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/pooling/rectify.h"

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/pooling/rectify.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <bool kCapped, class D>
HWY_INLINE hn::Vec<D> rectified(D d, hn::Vec<D> value) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    if constexpr (kCapped) {
      const auto six = hn::Set(d, 6);
      value = hn::IfThenElse(hn::Gt(value, six), six, value);
    }
    const auto zero = hn::Zero(d);
    return hn::IfThenElse(hn::Lt(value, zero), zero, value);
  } else {
    if constexpr (kCapped) {  // positive numbers are ordered as their bits are
      const auto six = hn::Set(d, static_cast<int16_t>(0x40C0));
      const auto is_nan = hn::Gt(value, hn::Set(d, static_cast<int16_t>(0x7F80)));
      value = hn::IfThenElse(hn::AndNot(is_nan, hn::Gt(value, six)), six, value);
    }
    // Bits of bfloat16: those from -0 to -inf, as signed integers, are below those of -NaN.
    const auto negative_infinity = hn::Set(d, static_cast<int16_t>(0xFF80));
    const auto is_negative = hn::Lt(value, hn::Zero(d));
    const auto is_nan = hn::Gt(value, negative_infinity);
    return hn::IfThenZeroElse(hn::AndNot(is_nan, is_negative), value);
  }
}

template <class T, bool kCapped>
void rectify(void* data, int64_t rows, int64_t columns, int64_t step) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> single;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < rows; ++row) {
    T* values = static_cast<T*>(data) + row * step;
    int64_t i = 0;
    for (; i + lanes <= columns; i += lanes) {
      hn::StoreU(rectified<kCapped>(d, hn::LoadU(d, values + i)), d, values + i);
    }
    for (; i < columns; ++i) {
      hn::StoreU(rectified<kCapped>(single, hn::LoadU(single, values + i)), single, values + i);
    }
  }
}

Rectify find_rectify(DType dtype, bool capped) {
  if (dtype == DType::Float32) return capped ? rectify<float, true> : rectify<float, false>;
  return capped ? rectify<int16_t, true> : rectify<int16_t, false>;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(find_rectify);

Rectify simd_rectify(DType dtype, Activation activation) {
  if (activation == Activation::None) return nullptr;
  return HWY_DYNAMIC_DISPATCH(find_rectify)(dtype, activation == Activation::Relu6);
}

Activation activation_named(std::string_view name) {
  if (name.empty()) return Activation::None;
  check<Internal>(name == "relu" || name == "relu6",
                  "a fused activation: expected relu or relu6, got '{}'.", name);
  return name == "relu" ? Activation::Relu : Activation::Relu6;
}

}  // namespace cornu::cpu
#endif
