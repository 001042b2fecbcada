// SPDX-License-Identifier: Apache-2.0
// What kernels that take indices begin with.

// The place on an axis of `size` that an index means; negative ones count from the end. -1, and a
// report, for one that is outside.
template <class Index>
__device__ __forceinline__ i64 place_of(Index index, i64 size, i64* status, i64 code) {
  i64 place = (i64)index;
  if ((Index)-1 < (Index)0 && place < 0) place += size;
  if ((u64)place < (u64)size) return place;
  report(status, code, (i64)index);
  return -1;
}
