// SPDX-License-Identifier: Apache-2.0
// y[o, d, c] = the sum of updates[o, i, c] for all i < length whose index is d, in order: each
// thread compares all indices with that of its element. ALONG: each update has its own index.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const N* __restrict__ indices, const T* __restrict__ updates, T* __restrict__ y,
           i64* status, i64 code SIZES) {
  const I e = (I)blockIdx.x * 256 + threadIdx.x;
  if (e >= (I)count) return;
  const I row = e / (I)inner, column = e - row * (I)inner;
  const I outer = row / (I)size;
  const i64 place = (i64)(row - outer * (I)size);
  C sum = (C)0;
  I at = outer * (I)length * (I)inner + column;
#pragma unroll 4
  for (I i = 0; i < (I)length; ++i, at += (I)inner) {
    if (place_of(indices[ALONG ? at : i], size, status, code) == place) {
      sum = (C)(sum + widen(updates[at]));
    }
  }
  y[e] = narrow<T>(sum);
}
