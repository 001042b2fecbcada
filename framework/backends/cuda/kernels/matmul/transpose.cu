// SPDX-License-Identifier: Apache-2.0
// to (columns, rows) = from (rows, columns), transposed: one block per tile of 32 x 32.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const S* __restrict__ from, S* __restrict__ to SIZES) {
  __shared__ S tile[32][33];
  const int tx = threadIdx.x % 32;
  const int ty = threadIdx.x / 32;
  const i64 row = (i64)blockIdx.x / across * 32;
  const i64 column = (i64)blockIdx.x % across * 32;
  for (int j = ty; j < 32; j += 8) {
    if (row + j < rows && column + tx < columns) {
      tile[j][tx] = from[(row + j) * columns + column + tx];
    }
  }
  __syncthreads();
  for (int j = ty; j < 32; j += 8) {
    if (column + j < columns && row + tx < rows) {
      to[(column + j) * rows + row + tx] = tile[tx][j];
    }
  }
}
