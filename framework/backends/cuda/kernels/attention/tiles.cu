// SPDX-License-Identifier: Apache-2.0
// Shared by attention's kernels: products of tiles by a block of 16 x 16 threads, and scores. A
// block owns a tile of OWN rows (queries or keys) and iterates over tiles of OTHER rows (of the
// other kind); thread (ty, tx) has rows RUN ty ... of the own tile and PER tx ... of the other one.
//
// Must be defined: T, C, OWN, OTHER, DEPTH; MOST_COLUMNS, per thread in any sum; BIASED, MASKED,
// CAUSAL (true or false).

enum {
  RUN = OWN / 16,
  PER = OTHER / 16,
  CHUNK = 16,  // rows of the other tile staged in shared memory at a time
  OWN_STEP = OWN + 4,
  OTHER_STEP = OTHER + 4,
  STAGED = DEPTH * (OWN_STEP + OTHER_STEP),
  FACTORS = CHUNK * 16 * MOST_COLUMNS,
  MEMORY = STAGED > FACTORS ? STAGED : FACTORS,
  WEIGHTS = OTHER * OWN_STEP
};

template <class E, int N>
struct alignas(sizeof(E) * N < 16 ? sizeof(E) * N : 16) Pack {
  E v[N];
};
template <int N>
__device__ __forceinline__ Pack<C, N> pack_at(const C* from) {
  return *(const Pack<C, N>*)from;
}

__device__ __forceinline__ int own_of_thread() { return threadIdx.x / 16 * RUN; }
__device__ __forceinline__ int other_of_thread() { return threadIdx.x % 16 * PER; }

// Sizes, and what is added to scores or hides them: of rank 4, with a stride of 0 along broadcast
// axes.
struct Problem {
  i64 batch, rows, columns, heads, keys, size, width;
  C scale;
  const T* bias;
  i64 bias_b, bias_h, bias_r, bias_c;
  const boolean* mask;
  i64 mask_b, mask_h, mask_r, mask_c;
};
#define PROBLEM_PARAMETERS                                                                        \
  const T *__restrict__ bias, const boolean *__restrict__ mask, i64 batch, i64 rows, i64 columns, \
      i64 heads, i64 keys, i64 size, i64 width, f64 scale, i64 bias_b, i64 bias_h, i64 bias_r,    \
      i64 bias_c, i64 mask_b, i64 mask_h, i64 mask_r, i64 mask_c
#define PROBLEM                                                                             \
  {                                                                                         \
    batch, rows, columns, heads, keys, size, width, (C)scale, bias, bias_b, bias_h, bias_r, \
        bias_c, mask, mask_b, mask_h, mask_r, mask_c                                        \
  }

// Causal scores beyond the diagonal are left out; with a mask they are hidden like masked ones.
__device__ __forceinline__ boolean leaves_out() { return CAUSAL && !MASKED; }

// Rows of an array, starting at `first`: `count` rows of `length` numbers, at a stride of `step`.
struct Rows {
  const T* first;
  i64 step;
  i64 count;
  i64 length;
};
// The rows of (batch, all, heads, length) that belong to one head, starting at row `begin`.
__device__ __forceinline__ Rows rows_of(const T* array, i64 batch, i64 all, i64 heads, i64 head,
                                        i64 length, i64 begin) {
  Rows result;
  result.first = array + ((batch * all + begin) * heads + head) * length;
  result.step = heads * length;
  result.count = all - begin;
  result.length = length;
  return result;
}

// Four numbers of a row starting at `at`; 0 beyond its end.
__device__ __forceinline__ Pack<C, 4> four_of(const Rows& x, i64 row, i64 at) {
  Pack<C, 4> result;
  const T* from = x.first + row * x.step + at;
  if (row < x.count && at + 4 <= x.length && x.length % 4 == 0) {
    const Pack<T, 4> whole = *(const Pack<T, 4>*)from;
    for (int v = 0; v < 4; ++v) result.v[v] = widen(whole.v[v]);
  } else {
    for (int v = 0; v < 4; ++v) {
      result.v[v] = row < x.count && at + v < x.length ? widen(from[v]) : (C)0;
    }
  }
  return result;
}

// Stages DEPTH numbers of each row, starting at `begin`, transposed: number d of row r is at [d *
// (ROWS + 4) + r].
template <int ROWS>
__device__ __forceinline__ void stage(C* to, const Rows& x, i64 begin) {
  for (int i = threadIdx.x; i < ROWS * (DEPTH / 4); i += 256) {
    const int row = i / (DEPTH / 4);
    const int at = i % (DEPTH / 4) * 4;
    const Pack<C, 4> four = four_of(x, row, begin + at);
    for (int v = 0; v < 4; ++v) to[(at + v) * (ROWS + 4) + row] = four.v[v];
  }
}

// sums += own other^T.
__device__ __forceinline__ void add_products(C (&sums)[RUN][PER], C* memory, const Rows& own,
                                             const Rows& other) {
  C* const of_own = memory;
  C* const of_other = memory + DEPTH * OWN_STEP;
  for (i64 begin = 0; begin < own.length; begin += DEPTH) {
    __syncthreads();
    stage<OWN>(of_own, own, begin);
    stage<OTHER>(of_other, other, begin);
    __syncthreads();
#pragma unroll 8
    for (int d = 0; d < DEPTH; ++d) {
      const Pack<C, RUN> a = pack_at<RUN>(of_own + d * OWN_STEP + own_of_thread());
      const Pack<C, PER> b = pack_at<PER>(of_other + d * OTHER_STEP + other_of_thread());
#pragma unroll
      for (int i = 0; i < RUN; ++i) {
#pragma unroll
        for (int j = 0; j < PER; ++j) sums[i][j] += a.v[i] * b.v[j];
      }
    }
  }
}

// The columns of add_times's sums: a thread has COUNT columns, in packs.
template <int COUNT>
struct Columns {
  enum { WIDE = COUNT < 4 ? COUNT : 4 };
  __device__ __forceinline__ static int at(int j) {
    return j / WIDE * 16 * WIDE + threadIdx.x % 16 * WIDE + j % WIDE;
  }
};

// sums += weights^T factors, for columns starting at `begin`. `weights` holds the own rows for row
// r of `factors` starting at [r * OWN_STEP], and 0 for rows beyond the last.
template <int COUNT>
__device__ __forceinline__ void add_times(C (&sums)[RUN][COUNT], C* memory, const C* weights,
                                          const Rows& factors, i64 begin) {
  enum { WIDE = Columns<COUNT>::WIDE };
  const int rows = factors.count < OTHER ? (int)factors.count : OTHER;
  for (int first = 0; first < rows; first += CHUNK) {
    __syncthreads();
    for (int i = threadIdx.x; i < CHUNK * 4 * COUNT; i += 256) {
      const int row = i / (4 * COUNT);
      const int at = i % (4 * COUNT) * 4;
      *(Pack<C, 4>*)(memory + row * 16 * COUNT + at) = four_of(factors, first + row, begin + at);
    }
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < CHUNK; ++k) {
      const Pack<C, RUN> a = pack_at<RUN>(weights + (first + k) * OWN_STEP + own_of_thread());
#pragma unroll
      for (int j = 0; j < COUNT; j += WIDE) {
        const Pack<C, WIDE> b = pack_at<WIDE>(memory + k * 16 * COUNT + Columns<COUNT>::at(j));
#pragma unroll
        for (int i = 0; i < RUN; ++i) {
#pragma unroll
          for (int v = 0; v < WIDE; ++v) sums[i][j + v] += a.v[i] * b.v[v];
        }
      }
    }
  }
}

// Writes a tile to shared memory, as the weights of add_times.
__device__ __forceinline__ void put_tile(C* weights, const C (&tile)[RUN][PER]) {
#pragma unroll
  for (int j = 0; j < PER; ++j) {
    Pack<C, RUN> own;
    for (int i = 0; i < RUN; ++i) own.v[i] = tile[i][j];
    *(Pack<C, RUN>*)(weights + (other_of_thread() + j) * OWN_STEP + own_of_thread()) = own;
  }
}

template <int COUNT>
__device__ __forceinline__ void clear(C (&sums)[RUN][COUNT]) {
#pragma unroll
  for (int i = 0; i < RUN; ++i) {
#pragma unroll
    for (int j = 0; j < COUNT; ++j) sums[i][j] = (C)0;
  }
}

// Stores rows of the own tile, each multiplied by a number.
template <int COUNT>
__device__ __forceinline__ void store(T* array, const C (&sums)[RUN][COUNT],
                                      const C (&factors)[RUN], i64 batch, i64 all, i64 heads,
                                      i64 head, i64 length, i64 first, i64 begin) {
  enum { WIDE = Columns<COUNT>::WIDE };
#pragma unroll
  for (int i = 0; i < RUN; ++i) {
    const i64 row = first + own_of_thread() + i;
    if (row >= all) continue;
    T* const to = array + ((batch * all + row) * heads + head) * length;
#pragma unroll
    for (int j = 0; j < COUNT; j += WIDE) {
      const i64 column = begin + Columns<COUNT>::at(j);
      Pack<T, WIDE> values;
      for (int v = 0; v < WIDE; ++v) values.v[v] = narrow<T>(sums[i][j + v] * factors[i]);
      if (column + WIDE <= length && length % WIDE == 0) {
        *(Pack<T, WIDE>*)(to + column) = values;
      } else {
        for (int v = 0; v < WIDE && column + v < length; ++v) to[column + v] = values.v[v];
      }
    }
  }
}

struct Score {
  C value;
  boolean counts;   // false: hidden, and without a gradient
  boolean present;  // false: left out
};
#define HIDDEN (sizeof(C) == 8 ? (C)(-0.7 * 1.7976931348623157e308) : (C)(-0.7f * 3.402823466e38f))

__device__ __forceinline__ Score score_of(const Problem& p, C product, i64 batch, i64 head, i64 row,
                                          i64 column) {
  Score score;
  score.value = product * p.scale;
  score.present = row < p.rows && column < p.columns && !(leaves_out() && column > row);
  score.counts = score.present;
  if (!score.present) {
    score.value = (C)-CORNU_INFINITY;
    return score;
  }
  if (BIASED) {
    score.value +=
        widen(p.bias[batch * p.bias_b + head * p.bias_h + row * p.bias_r + column * p.bias_c]);
  }
  if (MASKED) {
    score.counts =
        p.mask[batch * p.mask_b + head * p.mask_h + row * p.mask_r + column * p.mask_c] &&
        !(CAUSAL && column > row);
    if (!score.counts) score.value = HIDDEN;
  }
  return score;
}

__device__ __forceinline__ f32 exponential(f32 x) { return expf(x); }
__device__ __forceinline__ f64 exponential(f64 x) { return exp(x); }
