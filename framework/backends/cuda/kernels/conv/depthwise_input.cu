// SPDX-License-Identifier: Apache-2.0
// The input's gradient with one filter per channel and any strides: one thread for W channels of an
// element.

struct Sums {
  C v[W];
};

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ dy, const T* __restrict__ filter, T* __restrict__ dx SIZES) {
  if (thread_number() >= count) return;
  I rest = (I)thread_number();
  const I c = rest % ((I)channels / W) * W;
  const I position = rest / ((I)channels / W);
  const I p2 = position % (I)in2;
  rest = position / (I)in2;
  const I p1 = rest % (I)in1;
  rest /= (I)in1;
  const I p0 = rest % (I)in0;
  const I n = rest / (I)in0;
  Sums sums = {};
  for (I t0 = 0; t0 < (I)taps0; ++t0) {
    const I at0 = p0 + (I)low0 - t0 * (I)dil0;
    if (at0 < 0 || at0 % (I)step0 != 0 || at0 / (I)step0 >= (I)out0) continue;
    for (I t1 = 0; t1 < (I)taps1; ++t1) {
      const I at1 = p1 + (I)low1 - t1 * (I)dil1;
      if (at1 < 0 || at1 % (I)step1 != 0 || at1 / (I)step1 >= (I)out1) continue;
      for (I t2 = 0; t2 < (I)taps2; ++t2) {
        const I at2 = p2 + (I)low2 - t2 * (I)dil2;
        if (at2 < 0 || at2 % (I)step2 != 0 || at2 / (I)step2 >= (I)out2) continue;
        const I row = (n * (I)out0 + at0 / (I)step0) * (I)out1 + at1 / (I)step1;
        const I from = (row * (I)out2 + at2 / (I)step2) * (I)channels + c;
        const I tap = (t0 * (I)taps1 + t1) * (I)taps2 + t2;
        const Vector values = *(const Vector*)(dy + from);
        const Vector weights = *(const Vector*)(filter + tap * (I)channels + c);
#pragma unroll
        for (int v = 0; v < W; ++v) sums.v[v] += widen(values.v[v]) * widen(weights.v[v]);
      }
    }
  }
  Vector result;
#pragma unroll
  for (int v = 0; v < W; ++v) result.v[v] = narrow<T>(sums.v[v]);
  *(Vector*)(dx + position * (I)channels + c) = result;
}
