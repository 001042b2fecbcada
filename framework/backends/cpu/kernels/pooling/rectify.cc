// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/pooling/rectify.h"

#include "framework/backends/cpu/kernels/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/pooling/rectify.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> rectified(D d, hn::Vec<D> value) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    const auto zero = hn::Zero(d);
    return hn::IfThenElse(hn::Lt(value, zero), zero, value);
  } else {
    // Bits of bfloat16: those from -0 to -inf, as signed integers, are below those of -NaN.
    const auto negative_infinity = hn::Set(d, static_cast<int16_t>(0xFF80));
    const auto is_negative = hn::Lt(value, hn::Zero(d));
    const auto is_nan = hn::Gt(value, negative_infinity);
    return hn::IfThenZeroElse(hn::AndNot(is_nan, is_negative), value);
  }
}

template <class T>
void rectify(void* data, int64_t rows, int64_t columns, int64_t step) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> single;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < rows; ++row) {
    T* values = static_cast<T*>(data) + row * step;
    int64_t i = 0;
    for (; i + lanes <= columns; i += lanes) {
      hn::StoreU(rectified(d, hn::LoadU(d, values + i)), d, values + i);
    }
    for (; i < columns; ++i) {
      hn::StoreU(rectified(single, hn::LoadU(single, values + i)), single, values + i);
    }
  }
}

Rectify find_rectify(DType dtype) {
  return dtype == DType::Float32 ? rectify<float> : rectify<int16_t>;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(find_rectify);

Rectify simd_rectify(DType dtype) { return HWY_DYNAMIC_DISPATCH(find_rectify)(dtype); }

}  // namespace cornu::cpu
#endif
