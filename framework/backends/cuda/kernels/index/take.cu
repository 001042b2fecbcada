// SPDX-License-Identifier: Apache-2.0
// y[o, i, c] = x[o, index, c], where the index is that of i or, with ALONG, that of the element. x:
// (…, size, inner); y: (…, length, inner).
#define EACH 4

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const Vector* __restrict__ x, const N* __restrict__ indices, Vector* __restrict__ y,
           i64* status, i64 code SIZES) {
  const I first = (I)blockIdx.x * (256 * EACH) + threadIdx.x;
  N chosen[EACH] = {};  // all are read before the first is used: loads don't wait for each other
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const I e = first + k * 256;
    if (e < (I)count) chosen[k] = indices[ALONG ? e : e / (I)inner % (I)length];
  }
  i64 places[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    places[k] = first + k * 256 < (I)count ? place_of(chosen[k], size, status, code) : -1;
  }
  Vector values[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const I e = first + k * 256;
    if (places[k] < 0) continue;
    const I row = e / (I)inner;
    values[k] = x[(row / (I)length * (I)size + (I)places[k]) * (I)inner + (e - row * (I)inner)];
  }
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    if (places[k] >= 0) y[first + k * 256] = values[k];
  }
}
