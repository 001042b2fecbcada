// SPDX-License-Identifier: Apache-2.0
// The order of the rows of [outer, count, inner] along `count`, as indices: NaN comes last, equal
// elements stay in their order. A merge sort: FIRST sorts runs of 512 in shared memory, MERGE
// merges neighbouring runs of `run` by finding, for every element, how many of the other run
// precede it.
__device__ __forceinline__ bool comes_before(C a, C b) { return a < b || (b != b && a == a); }

// Whether the element `a`, at index `i`, precedes `b`, at `j`.
__device__ __forceinline__ bool precedes(C a, i32 i, C b, i32 j) {
#if DESCENDING
  if (comes_before(b, a)) return true;
  return !comes_before(a, b) && i < j;
#else
  if (comes_before(a, b)) return true;
  return !comes_before(b, a) && i < j;
#endif
}

#if STEP == FIRST

// A block for each run, 256 threads for its 512 elements: bitonic, in which elements beyond the
// row's end come last.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, i32* __restrict__ out, i64 count, i64 inner, i64 runs) {
  __shared__ C keys[512];
  __shared__ i32 indices[512];
  const i64 row = blockIdx.x / runs;
  const i64 first = blockIdx.x % runs * 512;
  const i64 begin = row / inner * count * inner + row % inner;
  for (int k = threadIdx.x; k < 512; k += 256) {
    const bool exists = first + k < count;
    keys[k] = exists ? (C)widen(in[begin + (first + k) * inner]) : (C)0;
    indices[k] = exists ? (i32)(first + k) : -1;
  }
  __syncthreads();
  for (int size = 2; size <= 512; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int low = 2 * (threadIdx.x / stride) * stride + threadIdx.x % stride;
      const int high = low + stride;
      const bool up = (low & size) == 0;
      const i32 i = indices[low];
      const i32 j = indices[high];
      const bool in_order = j < 0 ? true : (i < 0 ? false : precedes(keys[low], i, keys[high], j));
      if (in_order != up && !(i < 0 && j < 0)) {
        const C key = keys[low];
        keys[low] = keys[high];
        keys[high] = key;
        indices[low] = j;
        indices[high] = i;
      }
      __syncthreads();
    }
  }
  // Rows are gathered while they are sorted: [row, count].
  for (int k = threadIdx.x; k < 512 && first + k < count; k += 256) {
    out[row * count + first + k] = indices[k];
  }
}

#else

// A thread for each element. The last merge writes rows to where they belong.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, const i32* __restrict__ from, i32* __restrict__ to, i64 rows,
           i64 count, i64 inner, i64 run, i64 last) {
  const i64 number = thread_number();
  if (number >= rows * count) return;
  const i64 row = number / count;
  const i64 place = number % count;
  const i64 begin = row / inner * count * inner + row % inner;
  const i32* own = from + row * count;
  const i64 pair = place / (2 * run) * (2 * run);
  const bool is_left = place < pair + run;
  const i64 other = is_left ? pair + run : pair;
  i64 low = other < count ? other : count;
  i64 high = other + run < count ? other + run : count;
  const i64 start = low;
  const i32 index = own[place];
  const C key = widen(in[begin + (i64)index * inner]);
  while (low < high) {
    const i64 middle = (low + high) / 2;
    const i32 at = own[middle];
    if (precedes(widen(in[begin + (i64)at * inner]), at, key, index)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const i64 result = pair + (place - (is_left ? pair : pair + run)) + (low - start);
  to[last ? begin + result * inner : row * count + result] = index;
}

#endif
