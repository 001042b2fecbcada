// SPDX-License-Identifier: Apache-2.0
// The order of the rows of [outer, count, inner] along `count`, as indices; stable. A merge sort of
// keys (key.cu) with their indices. RUNS sorts runs in shared memory; MERGE merges adjacent runs of
// length `run`: an element's position is its own within its run plus the number of elements of the
// other run that precede it. Keys and indices are stored as [row, count] until `last`, which writes
// the `wanted` first indices to their destination, and keys only if `keeps`.
#define RUN 1024

#if STEP == RUNS

// 256 threads for 1024 elements: several rows of at most `size` elements, a power of two, or a run
// of one row. A bitonic sort in which positions beyond a row's end come last.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, K* __restrict__ keys_out, i32* __restrict__ out, i64 rows,
           i64 count, i64 inner, i64 wanted, i64 size, i64 last, i64 keeps) {
  __shared__ K keys[RUN];
  __shared__ i32 indices[RUN];
  const i64 runs = (count + RUN - 1) / RUN;  // per row; 1 if a block has several rows
  const int many = RUN / (int)size;
  const i64 first_row = blockIdx.x / runs * many;
  const i64 first = blockIdx.x % runs * RUN;
  const bool by_rows = inner > 1;  // neighbors in memory are in different rows
  for (int k = threadIdx.x; k < RUN; k += 256) {
    const int own = by_rows ? k % many : k / (int)size;
    const int place = by_rows ? k / many : k % (int)size;
    const i64 row = first_row + own;
    const bool exists = row < rows && first + place < count;
    K key = ~(K)0;
    if (exists) {
      key = key_of(widen(in[row / inner * count * inner + row % inner + (first + place) * inner]));
      if (DESCENDING) key = ~key;
    }
    keys[own * (int)size + place] = key;
    indices[own * (int)size + place] = exists ? (i32)(first + place) : 2147483647;
  }
  __syncthreads();
  for (int length = 2; length <= (int)size; length *= 2) {
#pragma unroll 1
    for (int stride = length / 2; stride > 0; stride /= 2) {
      for (int pair = threadIdx.x; pair < RUN / 2; pair += 256) {
        const int low = ((pair & ~(stride - 1)) << 1) + (pair & (stride - 1));
        const int high = low + stride;
        const bool up = (low & ((int)size - 1) & length) == 0;
        const K a = keys[low];
        const K b = keys[high];
        const i32 i = indices[low];
        const i32 j = indices[high];
        const bool in_order = a < b || (a == b && i < j);
        if (in_order != up) {
          keys[low] = b;
          keys[high] = a;
          indices[low] = j;
          indices[high] = i;
        }
      }
      __syncthreads();
    }
  }
  for (int k = threadIdx.x; k < RUN; k += 256) {
    const int own = by_rows && last ? k % many : k / (int)size;
    const int place = by_rows && last ? k / many : k % (int)size;
    const i64 row = first_row + own;
    if (row >= rows || first + place >= count) continue;
    const int at = own * (int)size + place;
    const i64 gathered = row * count + first + place;
    const i64 begin = row / inner * wanted * inner + row % inner;
    if (!last) {
      out[gathered] = indices[at];
    } else if (first + place < wanted) {
      out[begin + (first + place) * inner] = indices[at];
    }
    if (!last || keeps) keys_out[gathered] = keys[at];
  }
}

#else

// One thread per element.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const K* __restrict__ keys, const i32* __restrict__ indices, K* __restrict__ keys_out,
           i32* __restrict__ out, i64 rows, i64 count, i64 inner, i64 wanted, i64 run, i64 last,
           i64 keeps) {
  const i64 number = thread_number();
  if (number >= rows * count) return;
  const i64 row = number / count;
  const i64 place = number % count;
  const K* own = keys + row * count;
  const i64 pair = place / (2 * run) * (2 * run);
  const bool is_left = place < pair + run;
  const i64 other = is_left ? pair + run : pair;
  const i64 begin = other < count ? other : count;
  i64 low = begin;
  i64 high = other + run < count ? other + run : count;
  const K key = own[place];
  while (low < high) {
    const i64 middle = (low + high) / 2;
    // Equal elements of the left run precede those of the right one.
    if (own[middle] < key || (!is_left && own[middle] == key)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const i64 result = place - (is_left ? 0 : run) + (low - begin);
  const i64 gathered = row * count + result;
  if (!last) {
    out[gathered] = indices[number];
  } else if (result < wanted) {
    out[row / inner * wanted * inner + row % inner + result * inner] = indices[number];
  }
  if (!last || keeps) keys_out[gathered] = key;
}

#endif
