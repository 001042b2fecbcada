// SPDX-License-Identifier: Apache-2.0
// The gradient of maxima, W channels of an element of x per thread: it adds up the gradients of the
// windows whose maximum it is, in order. `numbers` contains the maximum's position in each window.
struct alignas(sizeof(N) * W <= 16 ? sizeof(N) * W : 16) Numbers {
  N v[W];
};

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const S* __restrict__ dy, const N* __restrict__ numbers, S* __restrict__ dx SIZES) {
  if (thread_number() >= count) return;
  const I index = (I)thread_number();
  const Place x = place_at(index, in0, in1, in2, channels);
  const Covering c0 = covering(x.at0, step0, low0, window0, out0);
  const Covering c1 = covering(x.at1, step1, low1, window1, out1);
  const Covering c2 = covering(x.at2, step2, low2, window2, out2);
  C sums[W] = {};
  for (I i = c0.begin; i < c0.end; ++i) {
    for (I j = c1.begin; j < c1.end; ++j) {
      for (I k = c2.begin; k < c2.end; ++k) {
        const I row = (x.n * (I)out0 + i) * (I)out1 + j;
        const I from = (row * (I)out2 + k) * (I)channels + x.c;
        const I own0 = x.at0 + (I)low0 - i * (I)step0;
        const I own1 = x.at1 + (I)low1 - j * (I)step1;
        const I own2 = x.at2 + (I)low2 - k * (I)step2;
        const N own = (N)((own0 * (I)window1 + own1) * (I)window2 + own2);
        const Numbers maxima = *(const Numbers*)(numbers + from);
        const Vector gradients = *(const Vector*)(dy + from);
#pragma unroll
        for (int v = 0; v < W; ++v) {
          if (maxima.v[v] == own) sums[v] += widen(gradients.v[v]);
        }
      }
    }
  }
  Vector result;
#pragma unroll
  for (int v = 0; v < W; ++v) result.v[v] = narrow<S>(sums[v]);
  ((Vector*)dx)[index] = result;
}
