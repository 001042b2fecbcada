// SPDX-License-Identifier: Apache-2.0
// svd, after block.cu, by one-sided Jacobi rotations: the rows or columns of x along the shorter
// side, which are the rows of `longs`, are rotated in pairs, one warp each, until all are
// orthogonal. Their norms are the singular values; normalized, they are the longer side's vectors,
// and the product of the rotations are the shorter side's.

enum { MOST_SWEEPS = 60 };
#define EPSILON 2.220446049250313e-16
#define NOTHING 1e-150  // norms below this are 0, for matrices whose largest element is about 1

struct Singular {
  f64* longs;    // (all, length)
  f64* shorts;   // (k, k)
  f64* sizes;    // (k)
  f64* factors;  // (all)
  i64* order;    // (k): rows by descending norm
  i64* found;    // (all): whether a row of `longs` is a vector already
  i64 k;
  i64 length;
  i64 all;  // number of rows of `longs` that are needed: k, or `length` with all vectors
};

__device__ __forceinline__ f64 dot(const f64* a, const f64* b, i64 length) {
  f64 sum = 0.0;
  for (i64 i = lane(); i < length; i += 32) sum += a[i] * b[i];
  return warp_sum(sum);
}
__device__ __forceinline__ void rotate(f64* a, f64* b, i64 length, const Rotation& rotation) {
  for (i64 i = lane(); i < length; i += 32) {
    const f64 x = a[i];
    const f64 y = b[i];
    a[i] = rotation.c * x - rotation.s * y;
    b[i] = rotation.s * x + rotation.c * y;
  }
}

// Returns whether this warp has rotated anything.
__device__ __forceinline__ boolean turn_round(const Singular& s, i64 round, i64 players,
                                              boolean vectors) {
  const f64 negligible = EPSILON * sqrt((f64)s.length);
  boolean turned = false;
  for (i64 i = warp(); i < players / 2; i += warps()) {
    const Pair pair = pair_of(round, i, players);
    if (pair.high >= s.k) continue;
    f64* const low = s.longs + pair.low * s.length;
    f64* const high = s.longs + pair.high * s.length;
    const f64 of_low = dot(low, low, s.length);
    const f64 of_high = dot(high, high, s.length);
    const f64 off = dot(low, high, s.length);
    if (!(fabs(off) > negligible * (sqrt(of_low) * sqrt(of_high)))) continue;
    const Rotation rotation = rotation_of(of_high - of_low, off);
    rotate(low, high, s.length, rotation);
    if (vectors) rotate(s.shorts + pair.low * s.k, s.shorts + pair.high * s.k, s.k, rotation);
    turned = true;
  }
  __syncthreads();
  return turned;
}

__device__ __forceinline__ void turn_all(const Singular& s, boolean vectors) {
  __shared__ int turned;
  const i64 players = s.k + s.k % 2;
  for (int sweep = 0; sweep < MOST_SWEEPS; ++sweep) {
    if (threadIdx.x == 0) turned = 0;
    __syncthreads();
    for (i64 round = 0; round < players - 1; ++round) {
      if (turn_round(s, round, players, vectors)) turned = 1;
    }
    __syncthreads();
    const boolean goes_on = turned != 0;
    __syncthreads();
    if (!goes_on) return;
  }
}

// Computes norms and their order, and normalizes rows with a nonzero norm.
__device__ __forceinline__ void normalize(const Singular& s) {
  for (i64 row = warp(); row < s.k; row += warps()) {
    f64* const own = s.longs + row * s.length;
    const f64 size = sqrt(dot(own, own, s.length));
    if (lane() == 0) {
      s.sizes[row] = size;
      s.found[row] = size > NOTHING;
    }
    for (i64 i = lane(); i < s.length && size > NOTHING; i += 32) own[i] /= size;
  }
  for (i64 row = s.k + threadIdx.x; row < s.all; row += blockDim.x) s.found[row] = 0;
  __syncthreads();
  FOR_EACH(row, s.k) {
    i64 rank = 0;
    for (i64 i = 0; i < s.k; ++i) {
      rank += s.sizes[i] > s.sizes[row] || (s.sizes[i] == s.sizes[row] && i < row) ? 1 : 0;
    }
    s.order[rank] = row;
  }
  __syncthreads();
}

// Subtracts multiples of the known rows, given by `factors`, from `own`.
__device__ __forceinline__ void subtract_found(const Singular& s, f64* own) {
  FOR_EACH(i, s.length) {
    f64 value = own[i];
    for (i64 j = 0; j < s.all; ++j) {
      if (s.found[j]) value -= s.factors[j] * s.longs[j * s.length + i];
    }
    own[i] = value;
  }
  __syncthreads();
}

// Adds a vector orthogonal to the known ones: computed from the unit vector with the largest
// component outside of their span.
__device__ __forceinline__ void complete_row(const Singular& s, i64 row) {
  f64* const own = s.longs + row * s.length;
  Largest most = {-2.0, s.length};
  FOR_EACH(i, s.length) {
    f64 outside = 1.0;
    for (i64 j = 0; j < s.all; ++j) {
      const f64 part = s.found[j] ? s.longs[j * s.length + i] : 0.0;
      outside -= part * part;
    }
    most = larger(most, Largest{outside, i});
  }
  const i64 unit = block_largest(most).index;
  FOR_EACH(i, s.length) own[i] = i == unit ? 1.0 : 0.0;
  __syncthreads();
  for (int pass = 0; pass < 2; ++pass) {  // the second one removes rounding errors
    for (i64 j = warp(); j < s.all; j += warps()) {
      const f64 factor = s.found[j] ? dot(s.longs + j * s.length, own, s.length) : 0.0;
      if (lane() == 0) s.factors[j] = factor;
    }
    __syncthreads();
    subtract_found(s, own);
  }
  f64 square = 0.0;
  FOR_EACH(i, s.length) square += own[i] * own[i];
  const f64 size = sqrt(block_sum(square));
  FOR_EACH(i, s.length) own[i] /= size;
  if (threadIdx.x == 0) s.found[row] = 1;
  __syncthreads();
}

// Scales the matrix such that its largest element is near 1; returns the power of two that it was
// divided by, or NaN if an element isn't finite.
__device__ __forceinline__ f64 load(const Singular& s, const T* x, boolean tall) {
  Largest most = {0.0, 0};
  f64 unusual = 0.0;
  FOR_EACH(i, s.k * s.length) {
    const i64 row = i / s.length;
    const i64 column = i % s.length;
    const f64 value = number(x[tall ? column * s.k + row : i]);
    s.longs[i] = value;
    unusual += value - value == 0.0 ? 0.0 : 1.0;
    most = larger(most, Largest{fabs(value), 0});
  }
  FOR_EACH(i, s.k * s.k) s.shorts[i] = i / s.k == i % s.k ? 1.0 : 0.0;
  if (block_sum(unusual) > 0.0) return (f64)CORNU_NAN;
  const f64 largest = block_largest(most).value;
  int exponent = 0;
  if (largest > 0.0) frexp(largest, &exponent);
  FOR_EACH(i, s.k * s.length) s.longs[i] = ldexp(s.longs[i], -exponent);
  __syncthreads();
  return ldexp(1.0, exponent);
}

extern "C" __global__ void __launch_bounds__(512)
    KERNEL(const T* __restrict__ x, T* __restrict__ u, T* __restrict__ values, T* __restrict__ vh,
           i64 count, i64 m, i64 n, i64 full, i64 vectors, WORK_PARAMETERS) {
  DECLARE_WORK(w);
  const boolean tall = m >= n;
  Singular s;
  s.k = tall ? n : m;
  s.length = tall ? m : n;
  s.all = full && vectors ? s.length : s.k;
  s.longs = w;
  s.shorts = s.longs + s.all * s.length;
  s.sizes = s.shorts + s.k * s.k;
  s.factors = s.sizes + s.k;
  s.order = (i64*)(s.factors + s.all);
  s.found = s.order + s.k;
  const i64 u_columns = tall ? s.all : s.k;
  const i64 v_rows = tall ? s.k : s.all;
  for (i64 item = blockIdx.x; item < count; item += gridDim.x) {
    const f64 scale = load(s, x + item * m * n, tall);
    if (scale == scale) {
      turn_all(s, vectors != 0);
      normalize(s);
    }
    FOR_EACH(i, s.k) {
      values[item * s.k + i] = stored(scale == scale ? s.sizes[s.order[i]] * scale : scale);
    }
    for (i64 row = 0; row < s.all && vectors && scale == scale; ++row) {
      if (!s.found[row]) complete_row(s, row);
    }
    FOR_EACH(i, vectors ? m * u_columns : 0) {
      const i64 column = i % u_columns;
      const f64* const own = tall ? s.longs : s.shorts;
      const i64 row = column < s.k && scale == scale ? s.order[column] : column;
      const f64 value = own[row * m + i / u_columns];
      u[item * m * u_columns + i] = stored(scale == scale ? value : scale);
    }
    FOR_EACH(i, vectors ? v_rows * n : 0) {
      const f64* const own = tall ? s.shorts : s.longs;
      const i64 row = i / n < s.k && scale == scale ? s.order[i / n] : i / n;
      vh[item * v_rows * n + i] = stored(scale == scale ? own[row * n + i % n] : scale);
    }
    __syncthreads();
  }
}
