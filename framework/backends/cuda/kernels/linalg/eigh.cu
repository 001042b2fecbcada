// SPDX-License-Identifier: Apache-2.0
// eigh, after block.cu, by Jacobi rotations: those of a round affect disjoint rows and run in
// parallel. Reads the lower triangle.

enum { MOST_SWEEPS = 40 };
#define NEGLIGIBLE 1e-18  // off-diagonal, relative to the largest element

struct Eigen {
  f64* a;           // (n, n), symmetric
  f64* vectors;     // rows
  Rotation* turns;  // of one round's pairs
  i64 n;

  __device__ __forceinline__ f64 get(i64 row, i64 column) const {
    return row < n && column < n ? a[row * n + column] : 0.0;
  }
  __device__ __forceinline__ void put(i64 row, i64 column, f64 value) const {
    if (row >= n || column >= n) return;
    a[row * n + column] = value;
    a[column * n + row] = value;
  }
};

// The elements in the rows of one pair and the columns of another.
__device__ __forceinline__ void turn_elements(const Eigen& e, Pair rows, Pair columns,
                                              Rotation of_rows, Rotation of_columns) {
  f64 x[2][2];
  for (int k = 0; k < 2; ++k) {
    const i64 column = k == 0 ? columns.low : columns.high;
    const f64 low = e.get(rows.low, column);
    const f64 high = e.get(rows.high, column);
    x[0][k] = of_rows.c * low - of_rows.s * high;
    x[1][k] = of_rows.s * low + of_rows.c * high;
  }
  for (int k = 0; k < 2; ++k) {
    const i64 row = k == 0 ? rows.low : rows.high;
    e.put(row, columns.low, of_columns.c * x[k][0] - of_columns.s * x[k][1]);
    e.put(row, columns.high, of_columns.s * x[k][0] + of_columns.c * x[k][1]);
  }
}

// Runs one round; returns whether this thread has rotated anything.
__device__ __forceinline__ boolean turn_round(const Eigen& e, i64 round, i64 players,
                                              f64 negligible) {
  boolean turned = false;
  FOR_EACH(i, players / 2) {
    const Pair pair = pair_of(round, i, players);
    const f64 off = e.get(pair.low, pair.high);
    Rotation rotation = {1.0, 0.0};
    if (fabs(off) > negligible) {
      rotation = rotation_of(e.get(pair.high, pair.high) - e.get(pair.low, pair.low), off);
      turned = true;
    }
    e.turns[i] = rotation;
  }
  __syncthreads();
  for (i64 i = warp(); i < players / 2; i += warps()) {
    const Pair rows = pair_of(round, i, players);
    const Rotation turn = e.turns[i];
    for (i64 k = i + lane(); k < players / 2; k += 32) {
      const Rotation other = e.turns[k];
      if (turn.s == 0.0 && other.s == 0.0) continue;
      if (k > i) {
        turn_elements(e, rows, pair_of(round, k, players), turn, other);
        continue;
      }
      const f64 off = turn.s / turn.c * e.get(rows.low, rows.high);
      e.put(rows.low, rows.low, e.get(rows.low, rows.low) - off);
      e.put(rows.high, rows.high, e.get(rows.high, rows.high) + off);
      e.put(rows.low, rows.high, 0.0);
    }
    for (i64 k = lane(); k < e.n && turn.s != 0.0; k += 32) {
      f64* const low = e.vectors + rows.low * e.n + k;
      f64* const high = e.vectors + rows.high * e.n + k;
      const f64 x = *low;
      const f64 y = *high;
      *low = turn.c * x - turn.s * y;
      *high = turn.s * x + turn.c * y;
    }
  }
  __syncthreads();
  return turned;
}

// The rank of a value in ascending order; NaN last.
__device__ __forceinline__ i64 rank_of(const Eigen& e, i64 index) {
  const f64 value = e.get(index, index);
  i64 rank = 0;
  for (i64 i = 0; i < e.n; ++i) {
    const f64 other = e.get(i, i);
    const boolean equal = other == value || (other != other && value != value);
    const boolean before = other < value || (value != value && other == other);
    rank += before || (equal && i < index) ? 1 : 0;
  }
  return rank;
}

extern "C" __global__ void __launch_bounds__(512)
    KERNEL(const T* __restrict__ x, T* __restrict__ values, T* __restrict__ vectors, i64 count,
           i64 n, WORK_PARAMETERS) {
  __shared__ int turned;
  DECLARE_WORK(w);
  const i64 players = n + n % 2;
  const Eigen e = {w, w + n * n, (Rotation*)(w + 2 * n * n), n};
  i64* const order = (i64*)(w + 2 * n * n + players);
  for (i64 item = blockIdx.x; item < count; item += gridDim.x) {
    Largest most = {0.0, 0};
    FOR_EACH(i, n * n) {
      const i64 row = i / n;
      const i64 column = i % n;
      const f64 value = number(x[item * n * n + (row >= column ? i : column * n + row)]);
      w[i] = value;
      e.vectors[i] = row == column ? 1.0 : 0.0;
      most = larger(most, Largest{fabs(value), 0});
    }
    const f64 negligible = NEGLIGIBLE * block_largest(most).value;
    for (int sweep = 0; sweep < MOST_SWEEPS; ++sweep) {
      if (threadIdx.x == 0) turned = 0;
      __syncthreads();
      for (i64 round = 0; round < players - 1; ++round) {
        if (turn_round(e, round, players, negligible)) turned = 1;
      }
      __syncthreads();
      const boolean goes_on = turned != 0;
      __syncthreads();
      if (!goes_on) break;
    }
    FOR_EACH(i, n) order[rank_of(e, i)] = i;
    __syncthreads();
    FOR_EACH(i, n) values[item * n + i] = stored(e.get(order[i], order[i]));
    FOR_EACH(i, n * n) { vectors[item * n * n + i] = stored(e.vectors[order[i % n] * n + i / n]); }
    __syncthreads();
  }
}
