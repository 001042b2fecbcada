// SPDX-License-Identifier: Apache-2.0
// Random numbers of type T: four per thread, from one or two blocks of Philox. KIND: BITS, UNIFORM
// or NORMAL; PLACED: whether there is an offset.
#define BITS 0
#define UNIFORM 1
#define NORMAL 2

struct alignas(sizeof(T) < 4 ? 8 : 16) Vector {
  T value[sizeof(T) == 8 ? 2 : 4];
};

__device__ __forceinline__ f64 unit_double(u32 high, u32 low) {
  const u64 bits = ((u64)high << 32 | low) >> 11;
  return (f64)(i64)bits * (1.0 / 9007199254740992.0);  // 2^-53
}

// ---- the normal distribution ----
// Every product is rounded before it is added to something, as on the CPU: no fused multiply-add.

template <int kK>
struct ArtanhTerm {
  static constexpr f64 value = 2.0 / (2 * kK + 1);
};
// Divided step by step, which affects the last bits.
template <int kN>
struct InverseFactorial {
  static constexpr f64 value = InverseFactorial<kN - 1>::value / kN;
};
template <>
struct InverseFactorial<0> {
  static constexpr f64 value = 1;
};
template <int kK>
struct SineTerm {
  static constexpr f64 value = (kK % 2 ? -1 : 1) * InverseFactorial<2 * kK + 1>::value;
};
template <int kK>
struct CosineTerm {
  static constexpr f64 value = (kK % 2 ? -1 : 1) * InverseFactorial<2 * kK>::value;
};

// The sum of Term<k> x^(k - kFirst) for k starting at kFirst.
template <template <int> class Term, int kTerms, int kFirst = 0>
__device__ __forceinline__ f64 series(f64 x) {
  constexpr f64 kTerm = Term<kFirst>::value;
  if constexpr (kFirst == kTerms - 1) {
    return kTerm;
  } else {
    return __dmul_rn(series<Term, kTerms, kFirst + 1>(x), x) + kTerm;
  }
}

// log(2^e m) = e log 2 + 2 artanh((m - 1) / (m + 1)), m in [sqrt(1/2), sqrt(2)).
__device__ __forceinline__ f64 natural_logarithm(f64 x) {
  const i64 root_half = 0x3FE6A09E667F3BCDll;
  const i64 moved = __double_as_longlong(x) + (0x3FF0000000000000ll - root_half);
  const f64 m = __longlong_as_double((moved & 0x000FFFFFFFFFFFFFll) + root_half);
  const f64 e = (f64)(i32)(moved >> 52) - 1023;
  const f64 s = (m - 1) / (m + 1);
  const f64 sum = series<ArtanhTerm, 12>(__dmul_rn(s, s));
  return __dmul_rn(e, 0.69314718055994530942) + __dmul_rn(s, sum);
}

// Two normally distributed numbers from u in (0, 1] and v in [0, 1) (Box and Muller 1958).
__device__ __forceinline__ void box_muller(f64 u, f64 v, f64* first, f64* second) {
  const f64 radius = sqrt(-2 * natural_logarithm(u));
  const f64 turns = 4 * v;
  const f64 quarter = floor(turns + 0.5);
  const f64 x = __dmul_rn(turns - quarter, 1.57079632679489661923);
  const f64 square = __dmul_rn(x, x);
  const f64 s = __dmul_rn(x, series<SineTerm, 9>(square));
  const f64 c = series<CosineTerm, 10>(square);
  const i32 quadrant = (i32)quarter & 3;
  const f64 sine = quadrant & 1 ? c : s;
  const f64 cosine = quadrant & 1 ? s : c;
  *first = __dmul_rn(radius, quadrant == 1 || quadrant == 2 ? -cosine : cosine);
  *second = __dmul_rn(radius, quadrant >= 2 ? -sine : sine);
}

// ---- numbers from words ----

// The numbers of a group of four, from two or four words for each pair.
__device__ __forceinline__ void from_words(const u32* word, u32* out) {
#pragma unroll
  for (int i = 0; i < 4; ++i) out[i] = word[i];
}

#if KIND != BITS
template <class V>
__device__ __forceinline__ void from_words(const u32* word, V* out) {
#if KIND == NORMAL
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    f64 first, second;
    box_muller(((f64)word[i] + 1) * (1.0 / 4294967296.0), (f64)word[i + 1] * (1.0 / 4294967296.0),
               &first, &second);
    out[i] = narrow<V>((f32)first);
    out[i + 1] = narrow<V>((f32)second);
  }
#else
  // As many bits as the significand holds, so that nothing rounds up to 1.
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    out[i] = narrow<V>((f32)(word[i] >> (32 - SIGNIFICAND)) * (1.0f / (1 << SIGNIFICAND)));
  }
#endif
}

__device__ __forceinline__ void from_words(const u32* word, f64* out) {
#if KIND == NORMAL
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const u32* own = word + 2 * i;
    box_muller(unit_double(own[0], own[1]) + 1.0 / 9007199254740992.0, unit_double(own[2], own[3]),
               out + i, out + i + 1);
  }
#else
#pragma unroll
  for (int i = 0; i < 4; ++i) out[i] = unit_double(word[2 * i], word[2 * i + 1]);
#endif
}
#endif

// Thread t computes the four numbers starting at 4 (t + first / 4) of the key's sequence; number
// `first` is the first one of `out`.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const u32* __restrict__ key, const i64* __restrict__ offset, T* __restrict__ out,
           i64 count) {
  const i64 first = PLACED ? *offset : 0;
  const i64 group = first / 4 + thread_number();
  const i64 begin = 4 * group - first;  // may be negative
  if (begin >= count) return;
  constexpr int kBlocks = sizeof(T) == 8 ? 2 : 1;
  u32 word[4 * kBlocks];
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    const PhiloxWords words = philox(key[0], key[1], (u64)(group * kBlocks + block), 0);
#pragma unroll
    for (int i = 0; i < 4; ++i) word[4 * block + i] = words.word[i];
  }
  T number[4];
  from_words(word, number);
  if (begin >= 0 && begin + 4 <= count && (u64)(out + begin) % sizeof(Vector) == 0) {
    constexpr int kLanes = sizeof(Vector) / sizeof(T);
#pragma unroll
    for (int at = 0; at < 4; at += kLanes) {
      Vector vector;
#pragma unroll
      for (int i = 0; i < kLanes; ++i) vector.value[i] = number[at + i];
      *(Vector*)(out + begin + at) = vector;
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (begin + i >= 0 && begin + i < count) out[begin + i] = number[i];
    }
  }
}
