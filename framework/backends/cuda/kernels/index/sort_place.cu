// SPDX-License-Identifier: Apache-2.0
// Sorts keys, and the numbers of their updates, by a digit, stably. Each thread has sixteen
// adjacent keys and a count for each digit.
#define THREADS 64
#define EACH (KEYS / THREADS)

extern "C" __global__ void __launch_bounds__(THREADS)
    KERNEL(const N* __restrict__ from, const K* __restrict__ order_from,
           const K* __restrict__ counts, const u64* __restrict__ totals, K* __restrict__ keys,
           K* __restrict__ order, i64 count, i64 shift, i64 size, i64 block, i64 inner, i64* status,
           i64 code) {
  __shared__ alignas(16)
      u16 before[DIGITS * THREADS];  // number of keys with the digit in preceding threads
  __shared__ u64 begins[DIGITS];
  __shared__ u64 sums[THREADS];
  const u32 thread = threadIdx.x;
  for (u32 i = thread; i < DIGITS * THREADS / 4; i += THREADS) ((u64*)before)[i] = 0;
  // Where the block's keys of each digit start: after those of lower digits and of preceding
  // blocks.
  u64 own[4], sum = 0;
  for (u32 k = 0; k < 4; ++k) {
    own[k] = sum;
    sum += totals[4 * thread + k];
  }
  sums[thread] = sum;
  __syncthreads();
  u64 lower = 0;
  for (u32 t = 0; t < thread; ++t) lower += sums[t];
  for (u32 k = 0; k < 4; ++k) {
    const u32 digit = 4 * thread + k;
    begins[digit] = lower + own[k] + counts[(i64)digit * gridDim.x + blockIdx.x];
  }
  const i64 first = (i64)blockIdx.x * KEYS + thread * EACH;
  K key[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    key[k] = 0;
    if (first + k >= count) break;
    key[k] = key_of(from, first + k, size, block, inner, status, code);
    ++before[digit_of(key[k], shift) * THREADS + thread];
  }
  __syncthreads();
  // Each lane has two threads' counts of a digit.
  const u32 lane = thread % 32;
#pragma unroll 4
  for (u32 digit = thread / 32; digit < DIGITS; digit += THREADS / 32) {
    u32* const pair = (u32*)(before + digit * THREADS) + lane;
    const u32 here = *pair, both = (here & 0xffffu) + (here >> 16);
    u32 through = both;
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(0xffffffffu, through, step);
      if (lane >= step) through += other;
    }
    const u32 less = through - both;
    *pair = less | (less + (here & 0xffffu)) << 16;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    if (first + k >= count) break;
    const u32 digit = digit_of(key[k], shift);
    const u64 place = begins[digit] + before[digit * THREADS + thread]++;
    keys[place] = key[k];
    order[place] = FIRST ? (K)(first + k) : order_from[first + k];
  }
}
