// SPDX-License-Identifier: Apache-2.0
// The gradient of means, W channels of an element of x per thread: it adds up its share of the
// windows that contain it, in order.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const S* __restrict__ dy, S* __restrict__ dx SIZES) {
  if (thread_number() >= count) return;
  const I index = (I)thread_number();
  const Place x = place_at(index, in0, in1, in2, channels);
  const Covering c0 = covering(x.at0, step0, low0, window0, out0);
  const Covering c1 = covering(x.at1, step1, low1, window1, out1);
  const Covering c2 = covering(x.at2, step2, low2, window2, out2);
  C sums[W] = {};
  for (I i = c0.begin; i < c0.end; ++i) {
    const I size0 = extent_of(i, step0, low0, window0, in0).size();
    for (I j = c1.begin; j < c1.end; ++j) {
      const I size1 = extent_of(j, step1, low1, window1, in1).size();
      for (I k = c2.begin; k < c2.end; ++k) {
        const I size2 = extent_of(k, step2, low2, window2, in2).size();
        const I row = (x.n * (I)out0 + i) * (I)out1 + j;
        const I from = (row * (I)out2 + k) * (I)channels + x.c;
        const Vector gradients = *(const Vector*)(dy + from);
#pragma unroll
        for (int v = 0; v < W; ++v) {
          sums[v] += widen(gradients.v[v]) / (C)(size0 * size1 * size2);
        }
      }
    }
  }
  Vector result;
#pragma unroll
  for (int v = 0; v < W; ++v) result.v[v] = narrow<S>(sums[v]);
  ((Vector*)dx)[index] = result;
}
