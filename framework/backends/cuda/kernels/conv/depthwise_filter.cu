// SPDX-License-Identifier: Apache-2.0
// The filters' gradient with one filter per channel. A block sums up TAPS taps starting at
// FIRST_TAP, for the channels of TX threads (W each) and a part of the outputs (blockIdx.y);
// threads with the same channels share the part.

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ x, const T* __restrict__ dy, C* __restrict__ parts SIZES) {
  __shared__ C shared[256 * W];
  const int tx = threadIdx.x % TX;
  const int ty = threadIdx.x / TX;
  const I c = ((I)blockIdx.x * TX + tx) * W;
  const I first = (I)blockIdx.y * (I)each;
  const I end = first + (I)each < (I)positions ? first + (I)each : (I)positions;
  C sums[TAPS][W] = {};
  for (I position = first + ty; c < (I)channels && position < end; position += 256 / TX) {
    const Vector gradient = *(const Vector*)(dy + position * (I)channels + c);
    const I o2 = position % (I)out2;
    const I o1 = position / (I)out2 % (I)out1;
    const I o0 = position / (I)out2 / (I)out1 % (I)out0;
    const I n = position / (I)out2 / (I)out1 / (I)out0;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) {
      const I tap = FIRST_TAP + k;
      const I p0 = o0 * (I)step0 + tap / (I)taps2 / (I)taps1 * (I)dil0 - (I)low0;
      const I p1 = o1 * (I)step1 + tap / (I)taps2 % (I)taps1 * (I)dil1 - (I)low1;
      const I p2 = o2 * (I)step2 + tap % (I)taps2 * (I)dil2 - (I)low2;
      if (p0 < 0 || p0 >= (I)in0 || p1 < 0 || p1 >= (I)in1 || p2 < 0 || p2 >= (I)in2) continue;
      const I from = (((n * (I)in0 + p0) * (I)in1 + p1) * (I)in2 + p2) * (I)channels + c;
      const Vector values = *(const Vector*)(x + from);
#pragma unroll
      for (int v = 0; v < W; ++v) sums[k][v] += widen(values.v[v]) * widen(gradient.v[v]);
    }
  }
#pragma unroll
  for (int k = 0; k < TAPS; ++k) {
#pragma unroll
    for (int v = 0; v < W; ++v) shared[v * 256 + threadIdx.x] = sums[k][v];
    __syncthreads();
    for (int half = 256 / TX / 2; half > 0; half /= 2) {
      if (ty < half) {
        for (int v = 0; v < W; ++v) {
          shared[v * 256 + threadIdx.x] += shared[v * 256 + threadIdx.x + half * TX];
        }
      }
      __syncthreads();
    }
    if (ty == 0 && c < (I)channels) {
      const i64 tap = (i64)blockIdx.y * all_taps + FIRST_TAP + k;
      for (int v = 0; v < W; ++v) parts[tap * channels + c + v] = shared[v * 256 + tx];
    }
    __syncthreads();
  }
}
