// SPDX-License-Identifier: Apache-2.0
// Converts numbers to unsigned ones (K: u32 or u64) in the same order, with NaN last and -0 equal
// to 0. C is the type they are computed in; KIND_OF_NUMBER is FLOAT, SIGNED or UNSIGNED.
#define UNSIGNED 0
#define SIGNED 1
#define FLOAT 2

__device__ __forceinline__ u32 bits_of(f32 value) { return f32_to_bits(value); }
__device__ __forceinline__ u64 bits_of(f64 value) { return (u64)__double_as_longlong(value); }

#define TOP_BIT ((K)1 << (8 * sizeof(K) - 1))

__device__ __forceinline__ K key_of(C value) {
#if KIND_OF_NUMBER == FLOAT
  if (value != value) return ~(K)0;
  const K bits = value == (C)0 ? (K)0 : bits_of(value);
  return (bits & TOP_BIT) != 0 ? ~bits : bits | TOP_BIT;
#elif KIND_OF_NUMBER == SIGNED
  return (K)value ^ TOP_BIT;
#else
  return (K)value;
#endif
}
