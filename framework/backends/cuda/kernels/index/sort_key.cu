// SPDX-License-Identifier: Apache-2.0
// The beginning of the sort's passes: the key of update i is its destination, as a number of type
// K. FIRST: computed from its index; all indices are checked. Later passes: as left by the previous
// pass.
#define DIGITS 256
#define KEYS 1024  // per block

#if FIRST
__device__ __forceinline__ K key_of(const N* indices, i64 i, i64 size, i64 block, i64 inner,
                                    i64* status, i64 code) {
  const i64 place = place_of(indices[i], size, status, code);
  return place < 0 ? (K)0 : (K)((i / block * size + place) * inner + i % inner);
}
#else
__device__ __forceinline__ K key_of(const N* keys, i64 i, i64, i64, i64, i64*, i64) {
  return keys[i];
}
#endif

__device__ __forceinline__ u32 digit_of(K key, i64 shift) {
  return (u32)(key >> (u32)shift) & (DIGITS - 1);
}
