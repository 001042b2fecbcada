// SPDX-License-Identifier: Apache-2.0
// y = x with `value` around and between its elements. LOCATE computes, from the number `rest` of a
// result, its position in x (`from`) and whether it is in x (`inside`).
#define EACH 4

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const Vector* __restrict__ x, const S* __restrict__ value,
           Vector* __restrict__ y SIZES) {
  const I first = (I)blockIdx.x * (256 * EACH) + threadIdx.x;
  Vector padding;
#pragma unroll
  for (int i = 0; i < W; ++i) padding.v[i] = *value;
  Vector values[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const I e = first + k * 256;
    if (e >= (I)count) break;
    I rest = e, from = 0;
    bool inside = true;
    LOCATE
    values[k] = padding;
    if (inside) values[k] = x[from];
  }
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const I e = first + k * 256;
    if (e < (I)count) y[e] = values[k];
  }
}
