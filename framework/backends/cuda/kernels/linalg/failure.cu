// SPDX-License-Identifier: Apache-2.0
// Reports the first matrix of a batch that has failed. Runs as a single block.
extern "C" __global__ void __launch_bounds__(1024)
    KERNEL(const i32* __restrict__ failed, i64* status, i64 code, i64 count) {
  __shared__ i64 parts[32];
  i64 first = count;
  for (i64 i = threadIdx.x; i < count && first == count; i += blockDim.x) {
    if (failed[i]) first = i;
  }
  for (int step = 16; step > 0; step /= 2) {
    const i64 other = __shfl_xor_sync(0xffffffffu, first, step);
    first = other < first ? other : first;
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = first;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < (int)blockDim.x / 32; ++i) first = parts[i] < first ? parts[i] : first;
  if (first < count) report(status, code, first);
}
