// SPDX-License-Identifier: Apache-2.0
// cholesky, after block.cu, of the lower triangle, column by column. `failed`: for each matrix,
// whether it isn't positive definite.
extern "C" __global__ void __launch_bounds__(512)
    KERNEL(const T* __restrict__ x, T* __restrict__ factor, i32* __restrict__ failed, i64 count,
           i64 n, WORK_PARAMETERS) {
  DECLARE_WORK(w);
  f64* const column = w + n * n;
  for (i64 item = blockIdx.x; item < count; item += gridDim.x) {
    FOR_EACH(i, n * n) w[i] = i % n <= i / n ? number(x[item * n * n + i]) : 0.0;
    boolean fails = false;
    __syncthreads();
    for (i64 j = 0; j < n && !fails; ++j) {
      const f64 square = w[j * n + j];
      fails = square <= 0.0;
      const f64 root = sqrt(square);
      __syncthreads();
      for (i64 i = j + threadIdx.x; i < n; i += blockDim.x) {
        const f64 value = i == j ? root : w[i * n + j] / root;
        w[i * n + j] = value;
        column[i] = value;
      }
      __syncthreads();
      for (i64 i = j + 1 + warp(); i < n; i += warps()) {
        const f64 own = column[i];
        for (i64 c = j + 1 + lane(); c <= i; c += 32) w[i * n + c] -= own * column[c];
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) failed[item] = fails;
    FOR_EACH(i, n * n) factor[item * n * n + i] = stored(w[i]);
    __syncthreads();
  }
}
