// SPDX-License-Identifier: Apache-2.0
// The means of windows, W channels of one window per thread. Padding isn't counted.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const S* __restrict__ x, S* __restrict__ means SIZES) {
  if (thread_number() >= count) return;
  const I index = (I)thread_number();
  const Place y = place_at(index, out0, out1, out2, channels);
  const Extent e0 = extent_of(y.at0, step0, low0, window0, in0);
  const Extent e1 = extent_of(y.at1, step1, low1, window1, in1);
  const Extent e2 = extent_of(y.at2, step2, low2, window2, in2);
  C sums[W] = {};
  for (I i = e0.begin; i < e0.end; ++i) {
    for (I j = e1.begin; j < e1.end; ++j) {
      for (I k = e2.begin; k < e2.end; ++k) {
        const I row = (y.n * (I)in0 + e0.first + i) * (I)in1 + e1.first + j;
        const I from = (row * (I)in2 + e2.first + k) * (I)channels + y.c;
        const Vector values = *(const Vector*)(x + from);
#pragma unroll
        for (int v = 0; v < W; ++v) sums[v] += widen(values.v[v]);
      }
    }
  }
  const I size = e0.size() * e1.size() * e2.size();
  Vector result;
#pragma unroll
  for (int v = 0; v < W; ++v) result.v[v] = narrow<S>(sums[v] / (C)(size > 0 ? size : 1));
  ((Vector*)means)[index] = result;
}
