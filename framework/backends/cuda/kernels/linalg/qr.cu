// SPDX-License-Identifier: Apache-2.0
// qr, after block.cu, by Householder reflections I - tau v v^T with v = (1, rest): the rest
// replaces the column that it clears, and the sign of the remaining element is chosen to avoid
// cancellation.

// Applies the reflection of the rows starting at `top`, with v stored in `v` (a column with stride
// `v_step`), to columns `begin` to `end` of a matrix w with row stride `step`.
__device__ __forceinline__ void reflect(f64* w, i64 step, i64 rows, i64 top, i64 begin, i64 end,
                                        const f64* v, i64 v_step, f64 tau) {
  __shared__ f64 parts[MOST_WARPS][32];
  if (tau == 0.0) return;
  for (i64 first = begin; first < end; first += 32) {
    const i64 c = first + lane();
    f64 part = 0.0;
    for (i64 r = top + 1 + warp(); r < rows && c < end; r += warps()) {
      part += v[r * v_step] * w[r * step + c];
    }
    parts[warp()][lane()] = part;
    __syncthreads();
    f64 sum = c < end ? w[top * step + c] : 0.0;
    for (int i = 0; i < warps(); ++i) sum += parts[i][lane()];
    sum *= tau;
    __syncthreads();
    if (c >= end) continue;
    if (warp() == 0) w[top * step + c] -= sum;
    for (i64 r = top + 1 + warp(); r < rows; r += warps()) w[r * step + c] -= sum * v[r * v_step];
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(512)
    KERNEL(const T* __restrict__ x, T* __restrict__ q, T* __restrict__ r, i64 count, i64 m, i64 n,
           i64 columns, WORK_PARAMETERS) {
  DECLARE_WORK(w);
  f64* const of_q = w + m * n;
  f64* const taus = of_q + m * columns;
  const i64 reflections = m < n ? m : n;
  for (i64 item = blockIdx.x; item < count; item += gridDim.x) {
    FOR_EACH(i, m * n) w[i] = number(x[item * m * n + i]);
    FOR_EACH(i, m * columns) of_q[i] = i / columns == i % columns ? 1.0 : 0.0;
    __syncthreads();
    for (i64 j = 0; j < reflections; ++j) {
      f64 tail = 0.0;
      for (i64 i = j + 1 + threadIdx.x; i < m; i += blockDim.x) tail += w[i * n + j] * w[i * n + j];
      tail = block_sum(tail);
      const f64 head = w[j * n + j];
      const boolean clear = tail <= 2.2250738585072014e-308;
      const f64 size = sqrt(head * head + tail);
      const f64 beta = clear ? head : (head >= 0.0 ? -size : size);
      const f64 tau = clear ? 0.0 : (beta - head) / beta;
      __syncthreads();
      for (i64 i = j + threadIdx.x; i < m; i += blockDim.x) {
        w[i * n + j] = i == j ? beta : (clear ? 0.0 : w[i * n + j] / (head - beta));
      }
      if (threadIdx.x == 0) taus[j] = tau;
      __syncthreads();
      reflect(w, n, m, j, j + 1, n, w + j, n, tau);
    }
    for (i64 j = reflections; j-- > 0;) {
      reflect(of_q, columns, m, j, j, columns, w + j, n, taus[j]);
    }
    __syncthreads();
    FOR_EACH(i, m * columns) q[item * m * columns + i] = stored(of_q[i]);
    FOR_EACH(i, columns * n) { r[item * columns * n + i] = stored(i % n >= i / n ? w[i] : 0.0); }
    __syncthreads();
  }
}
