// SPDX-License-Identifier: Apache-2.0
// Recomputes the probabilities of a tile from scores and the row statistics saved by the forward
// pass, and the gradients of its scores; after tiles.cu.

struct Gradients {
  const T* query;
  const T* key;
  const T* value;
  const T* dy;
  const C* statistics;
  const C* means;  // per row: the sum of dy * output, (batch, heads, rows)
};
#define GRADIENT_PARAMETERS                                                            \
  const T* __restrict__ query, const T* __restrict__ key, const T* __restrict__ value, \
      const T* __restrict__ dy, const C* __restrict__ statistics, const C* __restrict__ means
#define GRADIENTS \
  { query, key, value, dy, statistics, means }

// Turns `scores` into probabilities, and `slopes` into gradients times `factor`, for the tile whose
// own rows start at `first` and whose other rows start at `begin`.
template <bool OwnsQueries>
__device__ __forceinline__ void differentiate(const Problem& p, const Gradients& g, C* memory,
                                              i64 batch, i64 head, i64 first, i64 begin, C factor,
                                              C (&scores)[RUN][PER], C (&slopes)[RUN][PER]) {
  const i64 key_head = head / (p.heads / p.keys);
  const i64 row = OwnsQueries ? first : begin;
  const i64 column = OwnsQueries ? begin : first;
  const Rows q = rows_of(g.query, batch, p.rows, p.heads, head, p.size, row);
  const Rows k = rows_of(g.key, batch, p.columns, p.keys, key_head, p.size, column);
  const Rows y = rows_of(g.dy, batch, p.rows, p.heads, head, p.width, row);
  const Rows v = rows_of(g.value, batch, p.columns, p.keys, key_head, p.width, column);
  clear(scores);
  clear(slopes);
  add_products(scores, memory, OwnsQueries ? q : k, OwnsQueries ? k : q);
  add_products(slopes, memory, OwnsQueries ? y : v, OwnsQueries ? v : y);
#pragma unroll
  for (int i = 0; i < RUN; ++i) {
#pragma unroll
    for (int j = 0; j < PER; ++j) {
      const int own = own_of_thread() + i;
      const int other = other_of_thread() + j;
      const i64 of_row = row + (OwnsQueries ? own : other);
      const Score score =
          score_of(p, scores[i][j], batch, head, of_row, column + (OwnsQueries ? other : own));
      if (!score.present) {
        scores[i][j] = (C)0;
        slopes[i][j] = (C)0;
        continue;
      }
      const i64 at = (batch * p.heads + head) * p.rows + of_row;
      scores[i][j] =
          exponential(score.value - g.statistics[2 * at]) * ((C)1 / g.statistics[2 * at + 1]);
      slopes[i][j] = score.counts ? scores[i][j] * (slopes[i][j] - g.means[at]) * factor : (C)0;
    }
  }
}
