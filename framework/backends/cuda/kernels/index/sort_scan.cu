// SPDX-License-Identifier: Apache-2.0
// One warp per digit: counts[digit, b] becomes the number of its keys in blocks before b, and
// totals[digit] their total number.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(K* counts, u64* __restrict__ totals, i64 blocks) {
  const u32 lane = threadIdx.x % 32;
  const i64 digit = (i64)blockIdx.x * 8 + threadIdx.x / 32;
  K* const row = counts + digit * blocks;
  u64 before = 0;
  for (i64 first = 0; first < blocks; first += 32) {
    const i64 b = first + lane;
    const u32 own = b < blocks ? (u32)row[b] : 0;
    u32 through = own;
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(0xffffffffu, through, step);
      if (lane >= step) through += other;
    }
    if (b < blocks) row[b] = (K)(before + (through - own));
    before += __shfl_sync(0xffffffffu, through, 31);
  }
  if (lane == 0) totals[digit] = before;
}
