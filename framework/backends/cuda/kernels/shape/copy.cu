// SPDX-License-Identifier: Apache-2.0
// y = x with other strides: LOCATE computes the position of result e in x, from `rest` = e and
// `from` = offset. SPLAT: a result is W copies of one element of x.
#define EACH 4

#if SPLAT
typedef S Source;
__device__ __forceinline__ Vector result_of(S value) {
  Vector result;
#pragma unroll
  for (int i = 0; i < W; ++i) result.v[i] = value;
  return result;
}
#else
typedef Vector Source;
__device__ __forceinline__ Vector result_of(Vector value) { return value; }
#endif

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const Source* __restrict__ x, Vector* __restrict__ y SIZES) {
  const I first = (I)blockIdx.x * (256 * EACH) + threadIdx.x;
  Vector values[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const I e = first + k * 256;
    if (e >= (I)count) break;
    I rest = e, from = (I)offset;
    LOCATE
    values[k] = result_of(x[from]);
  }
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const I e = first + k * 256;
    if (e < (I)count) y[e] = values[k];
  }
}
