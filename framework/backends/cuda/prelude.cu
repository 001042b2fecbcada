// SPDX-License-Identifier: Apache-2.0
// The beginning of every kernel. A simulator on the host compiles the same text, with its own
// definitions of CUDA's built-ins.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef bool boolean;

// Storage formats; arithmetic is done in f32.
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

__device__ __forceinline__ f32 bits_to_f32(u32 bits) { return __uint_as_float(bits); }
__device__ __forceinline__ u32 f32_to_bits(f32 value) { return __float_as_uint(value); }

#ifdef CORNU_SIMULATED
__device__ f32 f16_to_f32(u16 bits);
__device__ u16 f32_to_f16(f32 value);
#else
__device__ __forceinline__ f32 f16_to_f32(u16 bits) {
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ __forceinline__ u16 f32_to_f16(f32 value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#endif

// Rounds to nearest even, and preserves NaN.
__device__ __forceinline__ u16 f32_to_bf16(f32 value) {
#if !defined(CORNU_SIMULATED) && __CUDA_ARCH__ >= 900
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  const u32 bits = f32_to_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (u16)((bits >> 16) | 0x40);
  return (u16)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
#endif
}

// The type used to compute with values of a storage type.
template <class T>
struct Computed {
  typedef T type;
};
template <>
struct Computed<f16> {
  typedef f32 type;
};
template <>
struct Computed<bf16> {
  typedef f32 type;
};

template <class T>
__device__ __forceinline__ T widen(T value) {
  return value;
}
__device__ __forceinline__ f32 widen(f16 value) { return f16_to_f32(value.bits); }
__device__ __forceinline__ f32 widen(bf16 value) { return bits_to_f32((u32)value.bits << 16); }

// Rounds a computed value to a storage type: narrow<bf16>(x).
template <class T>
struct Narrow {
  __device__ __forceinline__ static T of(typename Computed<T>::type value) { return value; }
};
template <>
struct Narrow<f16> {
  __device__ __forceinline__ static f16 of(f32 value) {
    f16 result;
    result.bits = f32_to_f16(value);
    return result;
  }
};
template <>
struct Narrow<bf16> {
  __device__ __forceinline__ static bf16 of(f32 value) {
    bf16 result;
    result.bits = f32_to_bf16(value);
    return result;
  }
};
template <class T>
__device__ __forceinline__ T narrow(typename Computed<T>::type value) {
  return Narrow<T>::of(value);
}

// Declares the block's dynamic shared memory as a char array: DYNAMIC_SHARED(memory);
#ifndef CORNU_SIMULATED
#define DYNAMIC_SHARED(NAME) extern __shared__ __align__(16) char NAME[]
#endif

#define CORNU_INFINITY bits_to_f32(0x7f800000u)
#define CORNU_NAN bits_to_f32(0x7fc00000u)

// This thread's index along the grid's x axis, and the number of threads.
__device__ __forceinline__ i64 thread_number() {
  return (i64)blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ i64 thread_count() { return (i64)gridDim.x * blockDim.x; }

// Reports that an op rejects `value`, unless something has already been reported. status: code,
// value.
__device__ __forceinline__ void report(i64* status, i64 code, i64 value) {
  if (atomicCAS((u64*)status, 0ull, (u64)code) == 0ull) status[1] = value;
}

// The same numbers as PhiloxEngine in framework/core/random.h: four words for a key and a counter.
struct PhiloxWords {
  u32 word[4];
};
__device__ __forceinline__ PhiloxWords philox(u32 key0, u32 key1, u64 low, u64 high) {
  u32 c0 = (u32)low, c1 = (u32)(low >> 32), c2 = (u32)high, c3 = (u32)(high >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = (u64)0xD2511F53u * c0;
    const u64 p1 = (u64)0xCD9E8D57u * c2;
    const u32 n0 = (u32)(p1 >> 32) ^ c1 ^ key0;
    const u32 n2 = (u32)(p0 >> 32) ^ c3 ^ key1;
    c0 = n0;
    c1 = (u32)p1;
    c2 = n2;
    c3 = (u32)p0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  PhiloxWords words;
  words.word[0] = c0;
  words.word[1] = c1;
  words.word[2] = c2;
  words.word[3] = c3;
  return words;
}
