// SPDX-License-Identifier: Apache-2.0
// sums[o, index, c] += updates[o, i, c] for i < length: one thread per o and c. `sums` is initially
// zero. ALONG: each update has its own index.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const N* __restrict__ indices, const T* __restrict__ updates, C* sums, i64* status,
           i64 code SIZES) {
  const I e = (I)blockIdx.x * 256 + threadIdx.x;
  if (e >= (I)count) return;
  const I outer = e / (I)inner, column = e - outer * (I)inner;
  C* const own = sums + outer * (I)size * (I)inner + column;
  I at = outer * (I)length * (I)inner + column;
  for (I i = 0; i < (I)length; ++i, at += (I)inner) {
    const i64 place = place_of(indices[ALONG ? at : i], size, status, code);
    if (place < 0) continue;
    C& sum = own[(I)place * (I)inner];
    sum = (C)(sum + widen(updates[at]));
  }
}
