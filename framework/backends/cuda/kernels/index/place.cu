// SPDX-License-Identifier: Apache-2.0
// The beginning of kernels that take indices.

// The position on an axis of `size` that an index denotes; negative indices count from the end.
// Reports an index that is out of range, and returns -1.
template <class Index>
__device__ __forceinline__ i64 place_of(Index index, i64 size, i64* status, i64 code) {
  i64 place = (i64)index;
  if ((Index)-1 < (Index)0 && place < 0) place += size;
  if ((u64)place < (u64)size) return place;
  report(status, code, (i64)index);
  return -1;
}
