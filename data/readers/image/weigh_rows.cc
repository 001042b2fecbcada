// SPDX-License-Identifier: Apache-2.0
#include "data/readers/image/weigh_rows.h"

// Compiled for AVX2 and later, and for any processor.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/readers/image/weigh_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::data::codecs {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Loads as many values as `d` has lanes.
template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const uint8_t* from) {
  const hn::Rebind<uint8_t, D> bytes;
  const hn::Rebind<int32_t, D> integers;
  return hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(bytes, from)));
}

template <class D, class T>
HWY_INLINE hn::Vec<D> weigh(D d, const T* from, int64_t stride, int64_t taps,
                            const float* weights) {
  auto sum = hn::Mul(hn::Set(d, weights[0]), load_floats(d, from));
  for (int64_t k = 1; k < taps; ++k) {
    sum = hn::MulAdd(hn::Set(d, weights[k]), load_floats(d, from + k * stride), sum);
  }
  return sum;
}

template <class T>
void weigh_all(const T* rows, int64_t stride, int64_t taps, const float* weights, int64_t count,
               float* to) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> single;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(weigh(d, rows + i, stride, taps, weights), d, to + i);
  }
  for (; i < count; ++i) {
    hn::StoreU(weigh(single, rows + i, stride, taps, weights), single, to + i);
  }
}

void weigh_bytes(const uint8_t* rows, int64_t stride, int64_t taps, const float* weights,
                 int64_t count, float* to) {
  weigh_all(rows, stride, taps, weights, count, to);
}
void weigh_floats(const float* rows, int64_t stride, int64_t taps, const float* weights,
                  int64_t count, float* to) {
  weigh_all(rows, stride, taps, weights, count, to);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::data::codecs
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::data::codecs {

HWY_EXPORT(weigh_bytes);
HWY_EXPORT(weigh_floats);

void weigh_rows(const uint8_t* rows, int64_t stride, int64_t taps, const float* weights,
                int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(weigh_bytes)(rows, stride, taps, weights, count, to);
}
void weigh_rows(const float* rows, int64_t stride, int64_t taps, const float* weights,
                int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(weigh_floats)(rows, stride, taps, weights, count, to);
}

}  // namespace cornu::data::codecs
#endif
