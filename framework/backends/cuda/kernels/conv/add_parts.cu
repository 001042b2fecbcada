// SPDX-License-Identifier: Apache-2.0
// out[c] = the sum of parts[p][c] over all p: 32 columns per block, whose warps share the parts.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const C* __restrict__ parts, T* __restrict__ out, i64 count, i64 columns) {
  __shared__ C shared[8][32];
  const int tx = threadIdx.x % 32;
  const int ty = threadIdx.x / 32;
  const i64 column = (i64)blockIdx.x * 32 + tx;
  C sum = (C)0;
  if (column < columns) {
    for (i64 p = ty; p < count; p += 8) sum += parts[p * columns + column];
  }
  shared[ty][tx] = sum;
  __syncthreads();
  if (ty > 0 || column >= columns) return;
  for (int j = 1; j < 8; ++j) sum += shared[j][tx];
  out[column] = narrow<T>(sum);
}
