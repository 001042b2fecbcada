// SPDX-License-Identifier: Apache-2.0
// Attention's gradient, after differentiate.cu: one block per tile of queries (OWN_QUERIES) or
// keys, which iterates over all tiles of the other kind in ascending order. OF_SCORES: computes
// `of_own`, the gradient of the tile's queries or keys; OF_VALUES: computes `of_value`, that of the
// values at its keys. Both together require all columns at once; COLUMNS and VALUE_COLUMNS are per
// thread.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(GRADIENT_PARAMETERS, T* __restrict__ of_own, T* __restrict__ of_value,
           PROBLEM_PARAMETERS) {
  alignas(16) __shared__ C memory[MEMORY];
  alignas(16) __shared__ C weights[WEIGHTS];
  const Problem p = PROBLEM;
  const Gradients g = GRADIENTS;
  const i64 own_rows = OWN_QUERIES ? rows : columns;
  const i64 own_heads = OWN_QUERIES ? heads : keys;
  const i64 group = heads / keys;
  const i64 tiles = (own_rows + OWN - 1) / OWN;
  const i64 parts = OF_SCORES ? (size + 16 * COLUMNS - 1) / (16 * COLUMNS)
                              : (width + 16 * VALUE_COLUMNS - 1) / (16 * VALUE_COLUMNS);
  C ones[RUN];
  for (int i = 0; i < RUN; ++i) ones[i] = (C)1;
  for (i64 item = blockIdx.x; item < batch * own_heads * tiles * parts; item += gridDim.x) {
    const i64 part = item % parts;
    const i64 tile = item / parts % tiles;
    const i64 first = (OWN_QUERIES ? tiles - 1 - tile : tile) * OWN;
    const i64 own_head = item / parts / tiles % own_heads;
    const i64 b = item / parts / tiles / own_heads;
    const i64 end_head = OWN_QUERIES ? own_head + 1 : (own_head + 1) * group;
    const i64 begin = leaves_out() && !OWN_QUERIES ? first / OTHER * OTHER : 0;
    const i64 others = OWN_QUERIES ? columns : rows;
    const i64 end = leaves_out() && OWN_QUERIES && first + OWN < others ? first + OWN : others;
    C sums[RUN][COLUMNS];
    C of_values[RUN][VALUE_COLUMNS];
    clear(sums);
    clear(of_values);
    for (i64 head = OWN_QUERIES ? own_head : own_head * group; head < end_head; ++head) {
      const i64 other_head = OWN_QUERIES ? head / group : head;
      const i64 other_heads = OWN_QUERIES ? keys : heads;
      for (i64 other = begin; other < end; other += OTHER) {
        C scores[RUN][PER];
        C slopes[RUN][PER];
        differentiate<OWN_QUERIES>(p, g, memory, b, head, first, other, p.scale, scores, slopes);
        if (OF_VALUES) {
          put_tile(weights, scores);
          add_times(of_values, memory, weights, rows_of(dy, b, rows, heads, head, width, other),
                    OF_SCORES ? 0 : part * 16 * VALUE_COLUMNS);
        }
        if (OF_SCORES) {
          if (OF_VALUES) __syncthreads();
          put_tile(weights, slopes);
          add_times(
              sums, memory, weights,
              rows_of(OWN_QUERIES ? key : query, b, others, other_heads, other_head, size, other),
              part * 16 * COLUMNS);
        }
      }
    }
    if (OF_SCORES) {
      store(of_own, sums, ones, b, own_rows, own_heads, own_head, size, first, part * 16 * COLUMNS);
    }
    if (OF_VALUES) {
      store(of_value, of_values, ones, b, columns, keys, own_head, width, first,
            OF_SCORES ? 0 : part * 16 * VALUE_COLUMNS);
    }
  }
}
