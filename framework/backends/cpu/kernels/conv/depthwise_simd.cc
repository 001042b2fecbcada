// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/conv/depthwise.h"
#include "framework/backends/cpu/kernels/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/conv/depthwise_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/elementwise/simd.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using Pairs = std::span<const DepthwisePair>;

// Four vectors of channels, whose sums are independent of each other.
void sum_four(Pairs pairs, const float* x, const float* y, float* sums) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (const DepthwisePair& pair : pairs) {
    const float* a = x + pair.x;
    const float* b = y + pair.y;
    s0 = hn::MulAdd(hn::LoadU(d, a), hn::LoadU(d, b), s0);
    s1 = hn::MulAdd(hn::LoadU(d, a + lanes), hn::LoadU(d, b + lanes), s1);
    s2 = hn::MulAdd(hn::LoadU(d, a + 2 * lanes), hn::LoadU(d, b + 2 * lanes), s2);
    s3 = hn::MulAdd(hn::LoadU(d, a + 3 * lanes), hn::LoadU(d, b + 3 * lanes), s3);
  }
  hn::StoreU(hn::Add(hn::LoadU(d, sums), s0), d, sums);
  hn::StoreU(hn::Add(hn::LoadU(d, sums + lanes), s1), d, sums + lanes);
  hn::StoreU(hn::Add(hn::LoadU(d, sums + 2 * lanes), s2), d, sums + 2 * lanes);
  hn::StoreU(hn::Add(hn::LoadU(d, sums + 3 * lanes), s3), d, sums + 3 * lanes);
}

// Up to a vector of channels.
void sum_some(Pairs pairs, const float* x, const float* y, float* sums, size_t count) {
  const D d;
  const bool whole = count == hn::Lanes(d);
  const auto load = [&](const float* from)
                        HWY_ATTR { return whole ? hn::LoadU(d, from) : load_tail(d, from, count); };
  V sum = hn::Zero(d);
  for (const DepthwisePair& pair : pairs) {
    sum = hn::MulAdd(load(x + pair.x), load(y + pair.y), sum);
  }
  sum = hn::Add(load(sums), sum);
  if (whole) {
    hn::StoreU(sum, d, sums);
  } else {
    store_tail(d, sum, sums, count);
  }
}

void sum_all(Pairs pairs, const float* x, const float* y, float* sums, size_t count) {
  const size_t lanes = hn::Lanes(D());
  size_t at = 0;
  for (; at + 4 * lanes <= count; at += 4 * lanes) sum_four(pairs, x + at, y + at, sums + at);
  for (; at < count; at += lanes) {
    sum_some(pairs, x + at, y + at, sums + at, count - at < lanes ? count - at : lanes);
  }
}

DepthwiseSum depthwise_sum() { return sum_all; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(depthwise_sum);

DepthwiseSum simd_depthwise_sum() { return HWY_DYNAMIC_DISPATCH(depthwise_sum)(); }

}  // namespace cornu::cpu
#endif
