// SPDX-License-Identifier: Apache-2.0
// One block for each digit: counts[digit, b] becomes the number of its keys in blocks before b, and
// totals[digit] that in all.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(K* counts, u64* __restrict__ totals, i64 blocks) {
  __shared__ u32 sums[256];
  K* const row = counts + blockIdx.x * blocks;
  u64 before = 0;
  for (i64 first = 0; first < blocks; first += 256) {
    const i64 b = first + threadIdx.x;
    const u32 own = b < blocks ? (u32)row[b] : 0;
    u32 sum = own;
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (u32 step = 1; step < 256; step *= 2) {
      const u32 other = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
      __syncthreads();
      sum += other;
      sums[threadIdx.x] = sum;
      __syncthreads();
    }
    if (b < blocks) row[b] = (K)(before + (sum - own));
    before += sums[255];
    __syncthreads();
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = before;
}
