// SPDX-License-Identifier: Apache-2.0
// The gradient of attention's bias, after differentiate.cu: one block per tile of it, which adds up
// the gradients of all scores that its elements were added to, in ascending order.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(GRADIENT_PARAMETERS, T* __restrict__ of_bias, i64 bias_batch, i64 bias_heads,
           PROBLEM_PARAMETERS) {
  alignas(16) __shared__ C memory[MEMORY];
  alignas(16) __shared__ C weights[WEIGHTS];
  __shared__ C of_rows[OWN];
  const Problem p = PROBLEM;
  const Gradients g = GRADIENTS;
  const boolean has_rows = bias_r != 0 || rows == 1;
  const boolean has_columns = bias_c != 0 || columns == 1;
  const i64 row_tiles = has_rows ? (rows + OWN - 1) / OWN : 1;
  const i64 column_tiles = has_columns ? (columns + OTHER - 1) / OTHER : 1;
  const i64 items = bias_batch * bias_heads * row_tiles * column_tiles;
  for (i64 item = blockIdx.x; item < items; item += gridDim.x) {
    const i64 column = item % column_tiles * OTHER;
    const i64 row = item / column_tiles % row_tiles * OWN;
    const i64 head = item / column_tiles / row_tiles % bias_heads;
    const i64 b = item / column_tiles / row_tiles / bias_heads;
    const i64 end_b = bias_batch == 1 ? batch : b + 1;
    const i64 end_head = bias_heads == 1 ? heads : head + 1;
    const i64 end_row = has_rows ? row + 1 : rows;
    const i64 end_column = has_columns ? column + 1 : columns;
    C sums[RUN][PER];
    clear(sums);
    for (i64 one = b; one < end_b; ++one) {
      for (i64 h = head; h < end_head; ++h) {
        for (i64 r = row; r < end_row; r += OWN) {
          for (i64 c = column; c < end_column; c += OTHER) {
            if (leaves_out() && c > r + OWN - 1) continue;
            C scores[RUN][PER];
            C slopes[RUN][PER];
            differentiate<true>(p, g, memory, one, h, r, c, (C)1, scores, slopes);
            for (int i = 0; i < RUN; ++i) {
              for (int j = 0; j < PER; ++j) sums[i][j] += slopes[i][j];
            }
          }
        }
      }
    }
    __syncthreads();
    put_tile(weights, sums);
    __syncthreads();
    T* const to = of_bias + b * bias_b + head * bias_h;
    const int t = threadIdx.x;
    if (has_rows && has_columns) {
      for (int i = t; i < OWN * OTHER; i += 256) {
        const i64 r = row + i / OTHER;
        const i64 c = column + i % OTHER;
        if (r < rows && c < columns) {
          to[r * bias_r + c * bias_c] = narrow<T>(weights[i % OTHER * OWN_STEP + i / OTHER]);
        }
      }
    } else if (has_columns) {
      C sum = (C)0;
      for (int i = 0; i < OWN && t < OTHER; ++i) sum += weights[t * OWN_STEP + i];
      if (t < OTHER && column + t < columns) to[(column + t) * bias_c] = narrow<T>(sum);
    } else {
      C sum = (C)0;
      for (int j = 0; j < OTHER && t < OWN; ++j) sum += weights[j * OWN_STEP + t];
      if (t < OWN) of_rows[t] = sum;
      if (has_rows && t < OWN && row + t < rows) to[(row + t) * bias_r] = narrow<T>(sum);
      __syncthreads();
      if (!has_rows && t == 0) {
        C all = (C)0;
        for (int i = 0; i < OWN; ++i) all += of_rows[i];
        to[0] = narrow<T>(all);
      }
    }
  }
}
