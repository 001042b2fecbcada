// SPDX-License-Identifier: Apache-2.0
// triangular_solve, after block.cu: one block for `tile` columns (a power of two, at most its
// number of threads) of the right-hand sides of one matrix. As soon as a row of the solution is
// known, its multiples are subtracted from all other rows.
extern "C" __global__ void __launch_bounds__(512)
    KERNEL(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ solution,
           i32* __restrict__ failed, i64 count, i64 n, i64 columns, i64 lower, i64 transposed,
           i64 unit, i64 tile, WORK_PARAMETERS) {
  DECLARE_WORK(w);
  const i64 tiles = (columns + tile - 1) / tile;
  const i64 column = threadIdx.x % tile;
  const i64 first_row = threadIdx.x / tile;
  const i64 row_step = blockDim.x / tile;
  const i64 down = transposed ? 1 : n;  // from an element of op(a) to the one in the next row
  const i64 across = transposed ? n : 1;
  const boolean upward = lower == transposed;
  for (i64 item = blockIdx.x; item < count * tiles; item += gridDim.x) {
    const T* const matrix = a + item / tiles * n * n;
    const i64 at = item % tiles * tile + column;  // index of the column
    const i64 first = item / tiles * n * columns + at;
    boolean fails = false;
    for (i64 i = first_row; i < n; i += row_step) {
      w[i * tile + column] = at < columns ? number(b[first + i * columns]) : 0.0;
    }
    __syncthreads();
    for (i64 step = 0; step < n; ++step) {
      const i64 j = upward ? n - 1 - step : step;
      const f64 divisor = unit ? 1.0 : number(matrix[j * n + j]);
      fails = fails || divisor == 0.0;
      const f64 value = w[j * tile + column] / divisor;
      const i64 begin = upward ? 0 : j + 1;
      const i64 end = upward ? j : n;
      for (i64 i = begin + first_row; i < end; i += row_step) {
        w[i * tile + column] -= number(matrix[i * down + j * across]) * value;
      }
      __syncthreads();
    }
    if (threadIdx.x == 0 && item % tiles == 0) failed[item / tiles] = fails;
    for (i64 i = first_row; i < n && at < columns; i += row_step) {
      const f64 divisor = unit ? 1.0 : number(matrix[i * n + i]);
      solution[first + i * columns] = stored(w[i * tile + column] / divisor);
    }
    __syncthreads();
  }
}
