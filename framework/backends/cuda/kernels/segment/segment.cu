// SPDX-License-Identifier: Apache-2.0
// out[s, j] = the reduction of data[i, j] over the slices i whose id is s. The slices have been
// sorted by the keys (key.cu) of their ids, into `order`; there is one thread group (groups.cu) per
// segment and some of its columns.

// The first position whose key is greater than that of `segment` or, unless `after`, not less.
__device__ __forceinline__ i64 bound(const K* keys, i64 slices, i64 segment, bool after) {
  const K key = key_of((I)segment);
  i64 low = 0;
  i64 high = slices;
  while (low < high) {
    const i64 middle = (low + high) / 2;
    if (keys[middle] < key || (after && keys[middle] == key)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const I* __restrict__ ids, const K* __restrict__ keys, const i32* __restrict__ order,
           const T* __restrict__ data, T* __restrict__ out, i64 segments, i64 slices, i64 inner,
           i64 width, i64 depth, i64* status, i64 check) {
  __shared__ C shared[256];
  for (i64 i = thread_number(); i < slices; i += thread_count()) {
    const i64 id = (i64)ids[i];
    if (id < 0 || id >= segments) report(status, check, id);
  }
  const Group group(width, depth);
  const i64 tiles = (inner + group.width - 1) / group.width;
  const i64 segment = tiles > 0 ? group.number / tiles : segments;
  const i64 column = tiles > 0 ? group.number % tiles * group.width + group.column : 0;
  const bool exists = segment < segments && column < inner;
  C result = IDENTITY;
  if (exists) {
    const i64 last = bound(keys, slices, segment, true);
    for (i64 i = bound(keys, slices, segment, false) + group.row; i < last; i += group.depth) {
      result = Join::of(result, widen(data[(i64)order[i] * inner + column]));
    }
  }
  result = of_group<Join>(group, result, shared);
  if (exists && group.row == 0) out[segment * inner + column] = narrow<T>(result);
}
