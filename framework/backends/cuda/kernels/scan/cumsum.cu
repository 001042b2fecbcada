// SPDX-License-Identifier: Apache-2.0
// Running sums along `count` of [outer, count, inner], with one thread group (groups.cu) per part
// of a row. A is the accumulator type, f64 for floats. TOTALS: computes the sum of each part;
// otherwise a part starts with the sum of the totals before it. With REVERSE, positions count from
// the row's end.
#define RUN 4

struct Sum {
  __device__ __forceinline__ static A of(A a, A b) { return a + b; }
};

// The sum over the preceding threads of a column; `all` becomes the sum over all of them.
__device__ __forceinline__ A sum_before(const Group& group, A own, A* shared, A& all) {
  const int size = group.width * group.depth;
  const int within = size < 32 ? size : 32;  // threads of a group in a warp
  const int lane = threadIdx.x & 31;
  const int place = lane & (within - 1);
  A sum = own;
  for (int distance = group.width; distance < within; distance *= 2) {
    const A before = (A)__shfl_up_sync(0xffffffffu, sum, distance);
    if (place >= distance) sum += before;
  }
  A before = (A)__shfl_up_sync(0xffffffffu, sum, group.width);
  if (place < group.width) before = (A)0;
  const int last = lane - place + within - group.width + group.column;
  all = (A)__shfl_sync(0xffffffffu, sum, last);
  if (size <= 32) return before;
  __syncthreads();
  if (lane < group.width) shared[threadIdx.x] = all;
  __syncthreads();
  const int first = (threadIdx.x & ~(size - 1)) + group.column;
  const int warp = (threadIdx.x & (size - 1)) / 32;
  A preceding = (A)0;
  all = (A)0;
  for (int other = 0; other < size / 32; ++other) {
    if (other == warp) preceding = all;
    all += shared[first + other * 32];
  }
  return preceding + before;
}

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, A* __restrict__ totals, T* __restrict__ out, i64 outer,
           i64 count, i64 inner, i64 parts, i64 each, i64 width, i64 depth) {
  __shared__ A shared[256];
  const Group group(width, depth);
  const i64 tiles = (inner + group.width - 1) / group.width;
  const i64 item = group.number / tiles;
  const i64 column = group.number % tiles * group.width + group.column;
  const bool exists = item < outer * parts && column < inner;
  const i64 row = exists ? item / parts : 0;
  const i64 part = exists ? item % parts : 0;
  const i64 begin = exists ? row * count * inner + column : 0;
  const i64 first = part * each;
  const i64 last = !exists ? first : (first + each < count ? first + each : count);
#if TOTALS
  A sum = (A)0;
#pragma unroll 4
  for (i64 i = first + group.row; i < last; i += group.depth) {
    sum += (A)widen(in[begin + (REVERSE ? count - 1 - i : i) * inner]);
  }
  sum = of_group<Sum>(group, sum, shared);
  if (exists && group.row == 0) totals[item * inner + column] = sum;
#else
  A running = (A)0;
  for (i64 i = group.row; i < part; i += group.depth) {
    running += totals[(row * parts + i) * inner + column];
  }
  running = of_group<Sum>(group, running, shared);
  // All threads of the block execute the same number of steps.
  for (i64 step = 0; step < each; step += (i64)RUN * group.depth) {
    const i64 run = first + step + (i64)group.row * RUN;
    A values[RUN];
    A own = (A)0;
#pragma unroll
    for (int k = 0; k < RUN; ++k) {
      const i64 i = run + k;
      values[k] = (A)0;
      if (i < last) values[k] = (A)widen(in[begin + (REVERSE ? count - 1 - i : i) * inner]);
      own += values[k];
    }
    A all;
    A sum = running + sum_before(group, own, shared, all);
    running += all;
#pragma unroll
    for (int k = 0; k < RUN; ++k) {
      const i64 i = run + k;
      const A before = sum;
      sum += values[k];
      if (i < last) {
        out[begin + (REVERSE ? count - 1 - i : i) * inner] =
            narrow<T>((C)(EXCLUSIVE ? before : sum));
      }
    }
  }
#endif
}
