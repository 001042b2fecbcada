// SPDX-License-Identifier: Apache-2.0
// One filter per channel: a thread computes R adjacent results along the last axis for W channels.
// FLIP: with reversed taps, which gives the gradient of the input if strides are 1 and the padding
// is what remains of the taps' reach.

struct Sums {
  C v[W];
};

__device__ __forceinline__ void multiply_add(Sums& sums, const Vector& x, const Vector& weights) {
#pragma unroll
  for (int v = 0; v < W; ++v) sums.v[v] += widen(x.v[v]) * widen(weights.v[v]);
}

__device__ __forceinline__ Vector vector_at(const T* from) { return *(const Vector*)from; }

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ x, const T* __restrict__ filter, T* __restrict__ y,
           const T* __restrict__ bias, const T* __restrict__ residual SIZES) {
  if (thread_number() >= count) return;
  I rest = (I)thread_number();
  const I c = rest % ((I)channels / W) * W;
  rest /= (I)channels / W;
  const I o2 = rest % (((I)out2 + R - 1) / R) * R;
  rest /= ((I)out2 + R - 1) / R;
  const I o1 = rest % (I)out1;
  rest /= (I)out1;
  const I o0 = rest % (I)out0;
  const I n = rest / (I)out0;
  Sums sums[R] = {};
  for (I t0 = 0; t0 < (I)taps0; ++t0) {
    const I p0 = o0 * (I)step0 + t0 * (I)dil0 - (I)low0;
    if (p0 < 0 || p0 >= (I)in0) continue;
    for (I t1 = 0; t1 < (I)taps1; ++t1) {
      const I p1 = o1 * (I)step1 + t1 * (I)dil1 - (I)low1;
      if (p1 < 0 || p1 >= (I)in1) continue;
      const I tap = FLIP ? ((I)taps0 - 1 - t0) * (I)taps1 + (I)taps1 - 1 - t1 : t0 * (I)taps1 + t1;
      const T* row = x + ((n * (I)in0 + p0) * (I)in1 + p1) * (I)in2 * (I)channels + c;
      const T* weights = filter + tap * (I)taps2 * (I)channels + c;
      const I first = o2 * (I)step2 - (I)low2;
#if R == 1
      for (I t = 0; t < (I)taps2; ++t) {
        const I p = first + t * (I)dil2;
        if (p < 0 || p >= (I)in2) continue;
        multiply_add(sums[0], vector_at(row + p * (I)channels),
                     vector_at(weights + (FLIP ? (I)taps2 - 1 - t : t) * (I)channels));
      }
#else
      // Each x is read once for all outputs that it contributes to. The dilation is 1.
      Vector held[TAPS2];
#pragma unroll
      for (int t = 0; t < TAPS2; ++t) {
        held[t] = vector_at(weights + (FLIP ? TAPS2 - 1 - t : t) * (I)channels);
      }
      constexpr int kReach = (R - 1) * STEP2 + TAPS2;
      Vector values[kReach];  // all loads first, so that none waits for another
#pragma unroll
      for (int j = 0; j < kReach; ++j) {
        const I p = first + j;
        if (p >= 0 && p < (I)in2) values[j] = vector_at(row + p * (I)channels);
      }
#pragma unroll
      for (int j = 0; j < kReach; ++j) {
        const I p = first + j;
        if (p < 0 || p >= (I)in2) continue;
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const int t = j - r * STEP2;
          if (t >= 0 && t < TAPS2) multiply_add(sums[r], values[j], held[t]);
        }
      }
#endif
    }
  }
  const I position = ((n * (I)out0 + o0) * (I)out1 + o1) * (I)out2 + o2;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    if (o2 + r >= (I)out2) break;
    const I index = (position + r) * (I)channels + c;
    Vector result;
#pragma unroll
    for (int v = 0; v < W; ++v) {
      result.v[v] = finished<T>(sums[r].v[v], bias, residual, c + v, index + v);
    }
    *(Vector*)(y + index) = result;
  }
}
