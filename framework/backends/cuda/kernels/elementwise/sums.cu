// SPDX-License-Identifier: Apache-2.0
// out[c] = the sum of parts[p][c] over all p, in blocks of TX columns, for SUMS such sums.
struct Sums {
  struct {
    const C* parts;
    T* out;
  } each[SUMS];
};

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(i64 count, i64 columns, const __grid_constant__ Sums sums) {
  __shared__ C shared[256];
  const C* parts = sums.each[blockIdx.y].parts;
  const int tx = threadIdx.x % TX;
  const int ty = threadIdx.x / TX;
  const i64 column = (i64)blockIdx.x * TX + tx;
  C sum = (C)0;
  if (column < columns) {
    for (i64 p = ty; p < count; p += 256 / TX) sum += parts[p * columns + column];
  }
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 256 / TX / 2; half > 0; half /= 2) {
    if (ty < half) shared[threadIdx.x] += shared[threadIdx.x + half * TX];
    __syncthreads();
  }
  if (ty == 0 && column < columns) sums.each[blockIdx.y].out[column] = narrow<T>(shared[tx]);
}
