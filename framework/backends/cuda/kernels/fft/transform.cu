// SPDX-License-Identifier: Apache-2.0
// One factor of a Fourier transform. A transform of `length` points is run as one launch per factor
// of its length (Stockham's order): with `span` the product of the preceding factors, and columns =
// length / radix, points i + columns k of a row, for all k < radix, are transformed, and result j
// goes to q + span (radix p + j), where i = span p + q, rotated by p j / (radix columns / span). A
// block processes `tile` such columns of a row, in shared memory; or, if the factor is the whole
// length, those of `tile` rows.
//
// S: type of the input; D: of the output; C: of the arithmetic. POINTS: maximum points per thread.
// STAGE: WHOLE (one factor), FIRST (span 1) or NEXT.
// LOAD: PLANES; PAIRS: row x yields x[2 k] + i x[2 k + 1]; CHIRPED: times the chirp;
//   CHIRP: the chirp itself, without reading anything. REAL_ONLY: there is no imaginary part.
// STORE: PLANES; SPLIT: converts the transform of PAIRS to the first half of the rows' transform;
//   TIMES: times `factor`; CHIRPED: both parts swapped, then times the chirp.
// BLUESTEIN (with WHOLE): a convolution with `factor` between loading and storing.
// ODD: there are radices other than powers of two; without them no registers are spilled.
#define WHOLE 0
#define FIRST 1
#define NEXT 2
#define PLANES 0
#define PAIRS 1
#define CHIRPED 2
#define CHIRP 3
#define SPLIT 4
#define TIMES 5

struct Complex {
  C re, im;
};
__device__ __forceinline__ Complex complex(C re, C im) {
  Complex result;
  result.re = re;
  result.im = im;
  return result;
}
__device__ __forceinline__ Complex operator+(Complex a, Complex b) {
  return complex(a.re + b.re, a.im + b.im);
}
__device__ __forceinline__ Complex operator-(Complex a, Complex b) {
  return complex(a.re - b.re, a.im - b.im);
}
__device__ __forceinline__ Complex operator*(Complex a, Complex b) {
  return complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
__device__ __forceinline__ Complex times_minus_i(Complex a) { return complex(a.im, -a.re); }

__device__ __forceinline__ void sine_cosine_pi(f32 x, f32* s, f32* c) { sincospif(x, s, c); }
__device__ __forceinline__ void sine_cosine_pi(f64 x, f64* s, f64* c) { sincospi(x, s, c); }

// exp(-2 pi i part / whole), 0 <= part < whole. The angle is reduced to an eighth of a turn while
// it is still a fraction of integers, which keeps the effect of its rounding small.
template <class Int>
__device__ __forceinline__ Complex root(Int part, Int whole) {
  const Int four = 4 * part;
  const int quarter = (2 * four >= whole) + (2 * four >= 3 * whole) + (2 * four >= 5 * whole) +
                      (2 * four >= 7 * whole);
  C s, c;
  sine_cosine_pi((C)(four - quarter * whole) / (C)(2 * whole), &s, &c);
  if (quarter & 1) {
    const C t = s;
    s = c;
    c = -t;
  }
  return quarter & 2 ? complex(-c, s) : complex(c, -s);
}

// ---- transforms of a few points, in registers ----

// cos and sin of 2 pi k / kRadix, 0 < k <= kRadix / 2.
template <int kRadix>
__device__ __forceinline__ C cosine_of(int k) {
  if (kRadix == 3) return (C)-0.5;
  if (kRadix == 5) return k == 1 ? (C)0.30901699437494742410 : (C)-0.80901699437494742410;
  return k == 1   ? (C)0.62348980185873353053
         : k == 2 ? (C)-0.22252093395631440429
                  : (C)-0.90096886790241912624;
}
template <int kRadix>
__device__ __forceinline__ C sine_of(int k) {
  if (kRadix == 3) return (C)0.86602540378443864676;
  if (kRadix == 5) return k == 1 ? (C)0.95105651629515357212 : (C)0.58778525229247312917;
  return k == 1   ? (C)0.78183148246802980871
         : k == 2 ? (C)0.97492791218182360702
                  : (C)0.43388373911755812048;
}

template <int kRadix>
struct Butterfly {  // 3, 5 or 7
  __device__ __forceinline__ static void run(Complex* x) {
    constexpr int kHalf = kRadix / 2;
    Complex sum[kHalf], difference[kHalf], total = x[0];
#pragma unroll
    for (int k = 0; k < kHalf; ++k) {
      sum[k] = x[k + 1] + x[kRadix - 1 - k];
      difference[k] = times_minus_i(x[k + 1] - x[kRadix - 1 - k]);
      total = total + sum[k];
    }
#pragma unroll
    for (int j = 1; j <= kHalf; ++j) {
      Complex even = x[0], odd = complex(0, 0);
#pragma unroll
      for (int k = 1; k <= kHalf; ++k) {
        const int turn = j * k % kRadix;
        const C cosine = cosine_of<kRadix>(turn > kHalf ? kRadix - turn : turn);
        const C sine = turn > kHalf ? -sine_of<kRadix>(kRadix - turn) : sine_of<kRadix>(turn);
        even = complex(even.re + cosine * sum[k - 1].re, even.im + cosine * sum[k - 1].im);
        odd = complex(odd.re + sine * difference[k - 1].re, odd.im + sine * difference[k - 1].im);
      }
      x[j] = even + odd;
      x[kRadix - j] = even - odd;
    }
    x[0] = total;
  }
};
template <>
struct Butterfly<2> {
  __device__ __forceinline__ static void run(Complex* x) {
    const Complex difference = x[0] - x[1];
    x[0] = x[0] + x[1];
    x[1] = difference;
  }
};
template <>
struct Butterfly<4> {
  __device__ __forceinline__ static void run(Complex* x) {
    const Complex a = x[0] + x[2], b = x[0] - x[2];
    const Complex c = x[1] + x[3], d = times_minus_i(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  }
};
template <>
struct Butterfly<8> {
  __device__ __forceinline__ static void run(Complex* x) {
    const C h = (C)0.70710678118654752440;
    Complex even[4] = {x[0], x[2], x[4], x[6]};
    Complex odd[4] = {x[1], x[3], x[5], x[7]};
    Butterfly<4>::run(even);
    Butterfly<4>::run(odd);
    odd[1] = complex(h * (odd[1].re + odd[1].im), h * (odd[1].im - odd[1].re));
    odd[2] = times_minus_i(odd[2]);
    odd[3] = complex(h * (odd[3].im - odd[3].re), -h * (odd[3].re + odd[3].im));
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      x[k] = even[k] + odd[k];
      x[k + 4] = even[k] - odd[k];
    }
  }
};

// ---- transforms in shared memory ----

// The position of number i in shared memory: strides that are powers of two use all banks.
__device__ __forceinline__ u32 padded(u32 i) { return i + (i >> 5); }

// a / b for indices into shared memory, given 1 / b.
__device__ __forceinline__ u32 divide(u32 a, f32 inverse) {
  return (u32)(((f32)a + 0.5f) * inverse);
}

// One factor of the transforms of `length` points, at a stride of `span`, in place.
template <int kRadix>
__device__ __forceinline__ void stage(C* re, C* im, u32 points, u32 length, u32 span) {
  constexpr int kMax = (POINTS + kRadix - 1) / kRadix;
  const u32 count = points / kRadix;
  const f32 inverse = 1.0f / (f32)span;
  Complex x[kMax][kRadix];
#pragma unroll
  for (int b = 0; b < kMax; ++b) {
    const u32 i = threadIdx.x + b * blockDim.x;
    if (i >= count) continue;
#pragma unroll
    for (int k = 0; k < kRadix; ++k) {
      const u32 at = padded(i + k * count);
      x[b][k] = complex(re[at], im[at]);
    }
  }
  __syncthreads();
#pragma unroll
  for (int b = 0; b < kMax; ++b) {
    const u32 i = threadIdx.x + b * blockDim.x;
    if (i >= count) continue;
    Butterfly<kRadix>::run(x[b]);
    const u32 p = divide(i, inverse);
    if (p > 0) {
      const Complex turn = root<i32>((i32)p, (i32)length);
      Complex power = turn;
#pragma unroll
      for (int k = 1; k < kRadix; ++k) {
        x[b][k] = x[b][k] * power;
        if (k + 1 < kRadix) power = power * turn;
      }
    }
    const u32 first = i + p * span * (kRadix - 1);
#pragma unroll
    for (int k = 0; k < kRadix; ++k) {
      const u32 at = padded(first + k * span);
      re[at] = x[b][k].re;
      im[at] = x[b][k].im;
    }
  }
  __syncthreads();
}

// Transforms `tile` interleaved columns of `length` points. factors: radices, four bits each.
__device__ void transform(C* re, C* im, u32 tile, u32 length, u64 factors) {
  const u32 points = tile * length;
  for (u32 span = tile; factors != 0; factors >>= 4) {
    const u32 radix = (u32)(factors & 15);
    if (radix == 8) stage<8>(re, im, points, length, span);
    if (radix == 4) stage<4>(re, im, points, length, span);
    if (radix == 2) stage<2>(re, im, points, length, span);
#if ODD
    if (radix == 3) stage<3>(re, im, points, length, span);
    if (radix == 5) stage<5>(re, im, points, length, span);
    if (radix == 7) stage<7>(re, im, points, length, span);
#endif
    length /= radix;
    span *= radix;
  }
}

// ---- memory ----

// Number i of the chirp exp(-pi i k^2 / n).
__device__ __forceinline__ Complex chirp(i64 i, i64 n) {
  return root<i64>((i64)((u64)i * (u64)i % (u64)(2 * n)), 2 * n);
}

// Number i of a row of `re` and `im` with `given` numbers, padded with zeros.
__device__ __forceinline__ Complex load(const S* re, const S* im, i64 row, i64 i, i64 given,
                                        i64 length, i64 chirp_length) {
#if LOAD == CHIRP
  const i64 distance = min(i, length - i);
  if (distance >= chirp_length) return complex(0, 0);
  const Complex value = chirp(distance, chirp_length);
  const C scale = (C)1 / (C)length;
  return complex(value.re * scale, -value.im * scale);
#else
  if (i >= given) return complex(0, 0);
#if LOAD == PAIRS
  const S* pair = re + 2 * (row * given + i);
  return complex(widen(pair[0]), widen(pair[1]));
#else
  const i64 at = row * given + i;
  const Complex value = complex(widen(re[at]), REAL_ONLY ? (C)0 : widen(im[at]));
  return LOAD == CHIRPED ? value * chirp(i, chirp_length) : value;
#endif
#endif
}

__device__ __forceinline__ void store(D* re, D* im, const C* factor_re, const C* factor_im,
                                      Complex value, i64 row, i64 i, i64 kept, i64 chirp_length) {
  if (i >= kept) return;
#if STORE == TIMES
  value = value * complex(factor_re[i], factor_im[i]);
#elif STORE == CHIRPED
  value = complex(value.im, value.re) * chirp(i, chirp_length);
#endif
  re[row * kept + i] = narrow<D>(value.re);
  im[row * kept + i] = narrow<D>(value.im);
}

// Number j of the transform of 2 n real numbers, computed from the transform of their n pairs,
// which is in a column of shared memory.
__device__ __forceinline__ Complex split(const C* re, const C* im, u32 column, u32 tile, u32 j,
                                         u32 n) {
  const u32 at = padded((j == n ? 0 : j) * tile + column);
  const u32 mirror = padded((j == 0 ? 0 : n - j) * tile + column);
  // Halved before the addition, so that no intermediate sum is larger than the result.
  const C half = (C)0.5;
  const Complex a = complex(half * re[at], half * im[at]);
  const Complex b = complex(half * re[mirror], -half * im[mirror]);
  return a + b + times_minus_i(a - b) * root<i32>((i32)j, (i32)(2 * n));
}

// Multiplies row k of `points` numbers in shared memory by factor k. `width` is a power of two.
__device__ __forceinline__ void multiply(C* re, C* im, const C* factor_re, const C* factor_im,
                                         u32 points, u32 width) {
  for (u32 e = threadIdx.x; e < points; e += blockDim.x) {
    const u32 k = e / width, at = padded(e);
    const Complex value = complex(re[at], im[at]) * complex(factor_re[k], factor_im[k]);
    re[at] = value.re;
    im[at] = value.im;
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(512)
    KERNEL(const S* re, const S* im, D* out_re, D* out_im, const C* factor_re, const C* factor_im,
           i64 rows, i64 length, i64 given, i64 kept, i64 radix, i64 factors, i64 span, i64 tile,
           i64 chirp_length) {
  DYNAMIC_SHARED(memory);
  const u32 width = (u32)tile, height = (u32)radix, points = width * height;
  C* const x = (C*)memory;
  C* const y = x + padded(points);
  const f32 by_height = 1.0f / (f32)height;
#if STAGE == WHOLE
  const i64 first_row = (i64)blockIdx.x * tile;
  for (u32 e = threadIdx.x; e < points; e += blockDim.x) {
    const u32 column = divide(e, by_height);
    const u32 k = e - column * height;
    Complex value = complex(0, 0);
    if (first_row + column < rows) {
      value = load(re, im, first_row + column, k, given, length, chirp_length);
    }
    x[padded(k * width + column)] = value.re;
    y[padded(k * width + column)] = value.im;
  }
  __syncthreads();
  transform(x, y, width, height, (u64)factors);
#if BLUESTEIN
  multiply(x, y, factor_re, factor_im, points, width);
  transform(y, x, width, height, (u64)factors);
#endif
  const f32 by_kept = 1.0f / (f32)kept;
  for (u32 e = threadIdx.x; e < width * (u32)kept; e += blockDim.x) {
    const u32 column = divide(e, by_kept);
    const u32 k = e - column * (u32)kept;
    if (first_row + column >= rows) break;
#if STORE == SPLIT
    const Complex value = split(x, y, column, width, k, height);
#elif BLUESTEIN
    const u32 at = padded(k * width + column);
    const Complex value = complex(y[at], x[at]);
#else
    const u32 at = padded(k * width + column);
    const Complex value = complex(x[at], y[at]);
#endif
    store(out_re, out_im, factor_re, factor_im, value, first_row + column, k, kept, chirp_length);
  }
#else
  const i64 columns = length / radix;
  const i64 tiles = (columns + tile - 1) / tile;
  const i64 row = blockIdx.x / tiles;
  const i64 begin = (blockIdx.x - row * tiles) * tile;
  const i64 first_p = begin / span;
  const f32 by_width = 1.0f / (f32)width;
  for (u32 e = threadIdx.x; e < points; e += blockDim.x) {
    const u32 k = divide(e, by_width);
    const i64 i = begin + (e - k * width);
    Complex value = complex(0, 0);
    if (i < columns) value = load(re, im, row, i + k * columns, given, length, chirp_length);
    x[padded(e)] = value.re;
    y[padded(e)] = value.im;
  }
  __syncthreads();
  transform(x, y, width, height, (u64)factors);
  for (u32 e = threadIdx.x; e < points; e += blockDim.x) {
    const u32 slow = STAGE == FIRST ? divide(e, by_height) : divide(e, by_width);
    const u32 fast = e - slow * (STAGE == FIRST ? height : width);
    const u32 k = STAGE == FIRST ? fast : slow;
    const u32 column = STAGE == FIRST ? slow : fast;
    const i64 i = begin + column;
    if (i >= columns) continue;
    i64 p = STAGE == FIRST ? i : first_p;
    while (STAGE == NEXT && i - p * span >= span) ++p;  // once or twice: a tile is narrow
    const u32 at = padded(k * width + column);
    Complex value = complex(x[at], y[at]);
    if (p > 0) value = value * root<i64>(p * k, columns / span * radix);
    store(out_re, out_im, factor_re, factor_im, value, row, i + span * (p * (radix - 1) + k), kept,
          chirp_length);
  }
#endif
}
