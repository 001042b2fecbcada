// SPDX-License-Identifier: Apache-2.0
// Matrix products for dtypes that no library supports: out = act(op(a) op(b) + bias), one block for
// each tile of 16 x 16 elements (`across` of them in a row) and each matrix of the batch. a and b
// are of type IN, sums of type C.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const IN* __restrict__ a, const IN* __restrict__ b, T* __restrict__ out,
           const T* __restrict__ bias, const T* __restrict__ residual, i64 across, i64 m, i64 n,
           i64 k, i64 a_row, i64 a_column, i64 b_row, i64 b_column, i64 a_stride, i64 b_stride) {
  __shared__ C of_a[16][17];
  __shared__ C of_b[16][17];
  const int tx = threadIdx.x % 16;
  const int ty = threadIdx.x / 16;
  const i64 row = (i64)blockIdx.x / across * 16 + ty;
  const i64 column = (i64)blockIdx.x % across * 16 + tx;
  a += (i64)blockIdx.z * a_stride;
  b += (i64)blockIdx.z * b_stride;
  C sum = (C)0;
  for (i64 first = 0; first < k; first += 16) {
    const i64 at_a = first + tx;
    const i64 at_b = first + ty;
    of_a[ty][tx] = row < m && at_a < k ? (C)widen(a[row * a_row + at_a * a_column]) : (C)0;
    of_b[ty][tx] = column < n && at_b < k ? (C)widen(b[at_b * b_row + column * b_column]) : (C)0;
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += of_a[ty][j] * of_b[j][tx];
    __syncthreads();
  }
  if (row >= m || column >= n) return;
  const i64 index = ((i64)blockIdx.z * m + row) * n + column;
  out[index] = finished<T>(sum, bias, residual, column, index);
}
