// SPDX-License-Identifier: Apache-2.0
// Attention, forward, after tiles.cu: one block per tile of queries of one head, which iterates
// over the keys tile by tile. Each row keeps its maximum score so far and the sum of exponentials
// relative to it; when a tile has a larger score, the row's intermediate results are scaled down.

// Over the 16 threads that share rows.
__device__ __forceinline__ C largest_of_row(C x) {
  for (int step = 8; step > 0; step /= 2) {
    const C other = __shfl_xor_sync(0xffffffffu, x, step);
    x = other > x ? other : x;
  }
  return x;
}
__device__ __forceinline__ C sum_of_row(C x) {
  for (int step = 8; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// Scores become exponentials; `factor` is what the row's previous results must be multiplied by.
__device__ __forceinline__ void add_row(C (&scores)[PER], C& largest, C& sum, C& factor) {
  C most = largest;
#pragma unroll
  for (int j = 0; j < PER; ++j) most = scores[j] > most ? scores[j] : most;
  most = largest_of_row(most);
  // With only scores of -infinity so far there are no exponentials yet: later tiles decide.
  const C shift = most == (C)-CORNU_INFINITY ? (C)0 : most;
  factor = most > largest ? exponential(largest - shift) : (C)1;
  largest = most;
  C total = (C)0;
#pragma unroll
  for (int j = 0; j < PER; ++j) {
    scores[j] = exponential(scores[j] - shift);
    total += scores[j];
  }
  sum = sum * factor + sum_of_row(total);
}

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ query, const T* __restrict__ key, const T* __restrict__ value,
           T* __restrict__ out, C* __restrict__ statistics, PROBLEM_PARAMETERS) {
  alignas(16) __shared__ C memory[MEMORY];
  alignas(16) __shared__ C weights[WEIGHTS];
  const Problem p = PROBLEM;
  const i64 tiles = (rows + OWN - 1) / OWN;
  const i64 parts = (width + 16 * COLUMNS - 1) / (16 * COLUMNS);
  for (i64 item = blockIdx.x; item < batch * heads * tiles * parts; item += gridDim.x) {
    const i64 begin = item % parts * 16 * COLUMNS;
    const i64 first =
        (tiles - 1 - item / parts % tiles) * OWN;  // with causal masking, long rows first
    const i64 head = item / parts / tiles % heads;
    const i64 b = item / parts / tiles / heads;
    const i64 key_head = head / (heads / keys);
    const Rows queries = rows_of(query, b, rows, heads, head, size, first);
    const i64 end = leaves_out() && first + OWN < columns ? first + OWN : columns;
    C sums[RUN][COLUMNS];
    clear(sums);
    C largest[RUN], totals[RUN];
    for (int i = 0; i < RUN; ++i) largest[i] = (C)-CORNU_INFINITY, totals[i] = (C)0;
    for (i64 column = 0; column < end; column += OTHER) {
      C scores[RUN][PER];
      clear(scores);
      add_products(scores, memory, queries, rows_of(key, b, columns, keys, key_head, size, column));
#pragma unroll
      for (int i = 0; i < RUN; ++i) {
#pragma unroll
        for (int j = 0; j < PER; ++j) {
          scores[i][j] = score_of(p, scores[i][j], b, head, first + own_of_thread() + i,
                                  column + other_of_thread() + j)
                             .value;
        }
        C factor;
        add_row(scores[i], largest[i], totals[i], factor);
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) sums[i][j] *= factor;
      }
      put_tile(weights, scores);
      add_times(sums, memory, weights, rows_of(value, b, columns, keys, key_head, width, column),
                begin);
    }
    C factors[RUN];
    for (int i = 0; i < RUN; ++i) factors[i] = (C)1 / totals[i];
    store(out, sums, factors, b, rows, heads, head, width, first, begin);
    for (int i = 0; i < RUN; ++i) {
      const i64 row = first + own_of_thread() + i;
      if (threadIdx.x % 16 != 0 || begin != 0 || row >= rows) continue;
      C* const to = statistics + ((b * heads + head) * rows + row) * 2;
      to[0] = largest[i];
      to[1] = totals[i];
    }
  }
}
