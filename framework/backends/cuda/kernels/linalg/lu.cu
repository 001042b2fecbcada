// SPDX-License-Identifier: Apache-2.0
// lu, after block.cu: Gaussian elimination with the largest pivot of each column. Skips columns of
// zeros.
extern "C" __global__ void __launch_bounds__(512)
    KERNEL(const T* __restrict__ x, T* __restrict__ packed, i32* __restrict__ rows, i64 count,
           i64 n, WORK_PARAMETERS) {
  DECLARE_WORK(w);
  for (i64 item = blockIdx.x; item < count; item += gridDim.x) {
    i32* const order = rows + item * n;
    FOR_EACH(i, n * n) w[i] = number(x[item * n * n + i]);
    FOR_EACH(i, n) order[i] = (i32)i;
    __syncthreads();
    for (i64 j = 0; j < n; ++j) {
      Largest most = {-1.0, n};
      for (i64 i = j + threadIdx.x; i < n; i += blockDim.x) {
        const f64 size = fabs(w[i * n + j]);
        most = larger(most, Largest{size >= 0.0 ? size : -0.5, i});
      }
      const i64 pivot = block_largest(most).index;
      if (pivot != j) {
        FOR_EACH(c, n) {
          const f64 old = w[j * n + c];
          w[j * n + c] = w[pivot * n + c];
          w[pivot * n + c] = old;
        }
        if (threadIdx.x == 0) {
          const i32 old = order[j];
          order[j] = order[pivot];
          order[pivot] = old;
        }
      }
      __syncthreads();
      const f64 divisor = w[j * n + j];
      if (divisor == 0.0) continue;
      for (i64 i = j + 1 + threadIdx.x; i < n; i += blockDim.x) w[i * n + j] /= divisor;
      __syncthreads();
      for (i64 i = j + 1 + warp(); i < n; i += warps()) {
        const f64 factor = w[i * n + j];
        for (i64 c = j + 1 + lane(); c < n; c += 32) w[i * n + c] -= factor * w[j * n + c];
      }
      __syncthreads();
    }
    FOR_EACH(i, n * n) packed[item * n * n + i] = stored(w[i]);
    __syncthreads();
  }
}
