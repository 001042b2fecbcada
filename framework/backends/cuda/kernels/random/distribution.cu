// SPDX-License-Identifier: Apache-2.0
// Random numbers of type T by rejection: element i takes as many words as it needs from Philox's
// stream `offset` + i + 1. KIND: GAMMA, LOG_GAMMA or BINOMIAL; PLACED: whether there is an offset.
#define GAMMA 0
#define LOG_GAMMA 1
#define BINOMIAL 2

// Takes the words of a stream in pairs.
struct Draws {
  u32 key0, key1;
  u64 stream;
  u64 counter;
  PhiloxWords words;
  bool half;  // half of the words are left

  // In (0, 1): its logarithm is finite.
  __device__ __forceinline__ f64 open_unit() {
    if (!half) words = philox(key0, key1, counter++, stream);
    const u32 high = half ? words.word[2] : words.word[0];
    const u32 low = half ? words.word[3] : words.word[1];
    half = !half;
    const u64 bits = ((u64)high << 32 | low) >> 11;
    return (f64)(i64)bits * (1.0 / 9007199254740992.0) + 0.5 / 9007199254740992.0;
  }
};

#if KIND != BINOMIAL

__device__ __forceinline__ f64 standard_normal(Draws& draws) {
  const f64 radius = sqrt(-2 * log(draws.open_unit()));
  return radius * cos(6.28318530717958647693 * draws.open_unit());
}

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), for alpha >= 1.
__device__ f64 draw_large_gamma(f64 alpha, Draws& draws) {
  const f64 d = alpha - 1.0 / 3;
  const f64 c = 1 / sqrt(9 * d);
  if (isinf(d)) return alpha;
  for (;;) {
    const f64 x = standard_normal(draws);
    const f64 root = 1 + c * x;
    if (root <= 0) continue;
    const f64 v = root * root * root;
    if (log(draws.open_unit()) < 0.5 * x * x + d - d * v + d * log(v)) return d * v;
  }
}

// Scales a number for alpha + 1 if alpha < 1. The logarithm doesn't underflow for small values.
__device__ f64 draw(f64 alpha, Draws& draws) {
  if (!(alpha > 0)) return CORNU_NAN;
  f64 scale = KIND == GAMMA ? 1 : 0;
  if (alpha < 1) {
    const f64 unit = draws.open_unit();
    scale = KIND == GAMMA ? pow(unit, 1 / alpha) : log(unit) / alpha;
    alpha += 1;
  }
  const f64 gamma = draw_large_gamma(alpha, draws);
  return KIND == GAMMA ? gamma * scale : log(gamma) + scale;
}

#else

// log(k!) minus Stirling's approximation.
__device__ f64 stirling_error(f64 k) {
  if (k < 10) {
    const f64 small[] = {0.0810614667953272, 0.0413406959554092, 0.0276779256849983,
                         0.0207906721037650, 0.0166446911898211, 0.0138761288230707,
                         0.0118967099458917, 0.0104112652619720, 0.00925546218271273,
                         0.00833056343336287};
    return small[(i32)k];
  }
  const f64 inverse = 1 / (k + 1);
  const f64 squared = inverse * inverse;
  return (1.0 / 12 - (1.0 / 360 - squared / 1260) * squared) * inverse;
}

// By the geometrically distributed gaps between successes; for few expected successes.
__device__ f64 draw_by_gaps(f64 n, f64 p, Draws& draws) {
  const f64 scale = log1p(-p);
  f64 successes = 0;
  for (f64 trials = 0;; ++successes) {
    trials += ceil(log(draws.open_unit()) / scale);
    if (!(trials <= n)) return successes;
  }
}

// BTRS of Hoermann, "The generation of binomial random variates" (1993), for p <= 1/2, n p >= 10.
__device__ f64 draw_by_rejection(f64 n, f64 p, Draws& draws) {
  const f64 deviation = sqrt(n * p * (1 - p));
  const f64 b = 1.15 + 2.53 * deviation;
  const f64 a = -0.0873 + 0.0248 * b + 0.01 * p;
  const f64 c = n * p + 0.5;
  const f64 box = 0.92 - 4.2 / b;
  const f64 odds = p / (1 - p);
  const f64 alpha = (2.83 + 5.1 / b) * deviation;
  const f64 mode = floor((n + 1) * p);
  for (;;) {
    const f64 u = draws.open_unit() - 0.5;
    const f64 v = draws.open_unit();
    const f64 us = 0.5 - fabs(u);
    const f64 k = floor((2 * a / us + b) * u + c);
    if (!(k >= 0 && k <= n)) continue;
    if (us >= 0.07 && v <= box) return k;
    const f64 bound = (mode + 0.5) * log((mode + 1) / (odds * (n - mode + 1))) +
                      (n + 1) * log((n - mode + 1) / (n - k + 1)) +
                      (k + 0.5) * log(odds * (n - k + 1) / (k + 1)) + stirling_error(mode) +
                      stirling_error(n - mode) - stirling_error(k) - stirling_error(n - k);
    if (log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

__device__ f64 draw(f64 n, f64 p, Draws& draws) {
  if (!(n >= 0) || !(p >= 0 && p <= 1) || isinf(n)) return CORNU_NAN;
  n = floor(n);
  const bool mirrored = p > 0.5;
  const f64 rarer = mirrored ? 1 - p : p;
  f64 successes = 0;
  if (n > 0 && rarer > 0) {
    successes = n * rarer < 10 ? draw_by_gaps(n, rarer, draws) : draw_by_rejection(n, rarer, draws);
  }
  return mirrored ? n - successes : successes;
}

#endif

// `b` is the second parameter, for BINOMIAL only.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const u32* __restrict__ key, const i64* __restrict__ offset, const T* a, const T* b,
           T* out, i64 count) {
  const i64 i = thread_number();
  if (i >= count) return;
  const i64 first = PLACED ? *offset : 0;
  Draws draws;
  draws.key0 = key[0];
  draws.key1 = key[1];
  draws.stream = (u64)(first + i) + 1;
  draws.counter = 0;
  draws.half = false;
#if KIND == BINOMIAL
  const f64 result = draw((f64)widen(a[i]), (f64)widen(b[i]), draws);
#else
  const f64 result = draw((f64)widen(a[i]), draws);
#endif
  out[i] = narrow<T>((C)result);
}
