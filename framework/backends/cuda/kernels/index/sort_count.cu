// SPDX-License-Identifier: Apache-2.0
// counts[digit, block]: the number of keys in a block that have the digit.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const N* __restrict__ from, K* __restrict__ counts, i64 count, i64 shift, i64 size,
           i64 block, i64 inner, i64* status, i64 code) {
  __shared__ u32 found[DIGITS];
  found[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < KEYS / 256; ++k) {
    const i64 i = (i64)blockIdx.x * KEYS + k * 256 + threadIdx.x;
    if (i >= count) break;
    atomicAdd(&found[digit_of(key_of(from, i, size, block, inner, status, code), shift)], 1u);
  }
  __syncthreads();
  counts[(i64)threadIdx.x * gridDim.x + blockIdx.x] = found[threadIdx.x];
}
