// SPDX-License-Identifier: Apache-2.0
// Runs of more than `longest` equal keys. Each contains a position that is a multiple of `longest`:
// the block of the first such position adds the run's updates, `across` columns of them, reading
// one tile at a time.
#define TILE 2048
#define EACH (TILE / 256)  // elements per thread

// The first position in [low, high) whose key isn't less than `key`.
__device__ __forceinline__ i64 lower_bound(const K* keys, i64 low, i64 high, u64 key) {
  while (low < high) {
    const i64 middle = low + (high - low) / 2;
    if ((u64)keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The thread's part of a tile: updates starting at position `row` of the order; zeros from `end`
// on.
__device__ __forceinline__ void read_tile(C* part, const T* updates, const K* order, i64 row,
                                          i64 end, i64 inner, i64 columns, u32 bits) {
#pragma unroll
  for (u32 k = 0; k < EACH; ++k) {
    const u32 e = threadIdx.x + k * 256;
    const i64 i = row + (e >> bits);
    const u32 column = e & ((1u << bits) - 1);
    part[k] = (C)0;
    if (i < end && column < columns) part[k] = widen(updates[(i64)order[i] * inner + column]);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const K* __restrict__ keys, const K* __restrict__ order, const T* __restrict__ updates,
           T* __restrict__ y, i64 length, i64 size, i64 inner, i64 longest, i64 across_bits,
           i64 column_tiles, i64 places) {
  __shared__ C tile[TILE];
  const u32 bits = (u32)across_bits, across = 1u << bits;
  i64 rest = blockIdx.x;
  const i64 at = rest % places * longest;
  rest /= places;
  const i64 first_column = (rest % column_tiles) << bits;
  const i64 outer = rest / column_tiles;
  const K key = keys[at];
  if (at + 1 >= length || keys[at + 1] != key) return;
  if (at > 0 && keys[at - longest] == key) return;
  const i64 begin = lower_bound(keys, at > 0 ? at - longest + 1 : 0, at, (u64)key);
  if (begin + longest >= length || keys[begin + longest] != key) return;
  const i64 end = lower_bound(keys, begin + longest, length, (u64)key + 1);
  const i64 columns = inner - first_column;
  const i64 rows = TILE >> bits;
  C sum = (C)0;
  C next[EACH];  // read while the previous tile is added up
  const T* const from = updates + outer * length * inner + first_column;
  read_tile(next, from, order, begin, end, inner, columns, bits);
  for (i64 row = begin; row < end; row += rows) {
#pragma unroll
    for (u32 k = 0; k < EACH; ++k) tile[threadIdx.x + k * 256] = next[k];
    __syncthreads();
    read_tile(next, from, order, row + rows, end, inner, columns, bits);
    if (threadIdx.x < across) {
      const u32 count = (u32)min(rows, end - row);
#pragma unroll 8
      for (u32 r = 0; r < count; ++r) sum = (C)(sum + tile[(r << bits) + threadIdx.x]);
    }
    __syncthreads();
  }
  if (threadIdx.x < across && threadIdx.x < columns) {
    const i64 row = BY_RUN ? begin : (i64)key;
    y[(outer * size + row) * inner + first_column + threadIdx.x] = narrow<T>(sum);
  }
}
