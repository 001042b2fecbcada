// SPDX-License-Identifier: Apache-2.0
// argmax and argmin along `count` of [outer, count, inner]: the first of the most extreme elements,
// where NaN is the most extreme. One thread group (groups.cu) per part of a row; with CANDIDATES, a
// row has `many` positions found by parts, otherwise all of its own.
struct Best {
  C value;
  i64 place;  // none: -1

  __device__ __forceinline__ bool is_better(const Best& other) const {
#if LARGEST
    return other.value < value || (value != value && other.value == other.value);
#else
    return value < other.value || (value != value && other.value == other.value);
#endif
  }
  __device__ __forceinline__ static Best of(const Best& a, const Best& b) {
    if (b.place < 0 || (a.place >= 0 && a.is_better(b))) return a;
    if (a.place < 0 || b.is_better(a)) return b;
    return a.place < b.place ? a : b;
  }
};

__device__ __forceinline__ Best of_lane(const Best& best, int distance) {
  Best other;
  other.value = (C)__shfl_xor_sync(0xffffffffu, best.value, distance);
  other.place = __shfl_xor_sync(0xffffffffu, best.place, distance);
  return other;
}

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, const i32* __restrict__ candidates, i32* __restrict__ out,
           i64 outer, i64 count, i64 many, i64 inner, i64 parts, i64 each, i64 width, i64 depth) {
  __shared__ Best shared[256];
  const Group group(width, depth);
  const i64 tiles = (inner + group.width - 1) / group.width;
  const i64 item = group.number / tiles;
  const i64 column = group.number % tiles * group.width + group.column;
  const bool exists = item < outer * parts && column < inner;
  Best best = {(C)0, -1};
  if (exists) {
    const i64 row = item / parts;
    const T* from = in + row * count * inner + column;
    const i64 first = item % parts * each;
    const i64 last = first + each < many ? first + each : many;
#pragma unroll 4
    for (i64 i = first + group.row; i < last; i += group.depth) {
#if CANDIDATES
      const i64 place = candidates[(row * many + i) * inner + column];
#else
      const i64 place = i;
#endif
      const Best other = {(C)widen(from[place * inner]), place};
      if (best.place < 0 || other.is_better(best)) best = other;
    }
  }
  best = of_group<Best>(group, best, shared);
  if (exists && group.row == 0) out[item * inner + column] = (i32)best.place;
}
