// SPDX-License-Identifier: Apache-2.0
// Running sums along `count` of [outer, count, inner]: A is what they are kept in, f64 for floats.
// TX threads for each row: each sums up a run of it, then goes over the run again from where it
// begins.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, T* __restrict__ out, i64 rows, i64 count, i64 inner) {
  __shared__ A shared[256];
  const int tx = threadIdx.x % TX;
  const i64 row = (i64)blockIdx.x * (256 / TX) + threadIdx.x / TX;
  const bool exists = row < rows;
  const i64 begin = exists ? row / inner * count * inner + row % inner : 0;
  const i64 each = (count + TX - 1) / TX;
  const i64 first = each * tx < count ? each * tx : count;
  const i64 last = exists ? (first + each < count ? first + each : count) : first;
  A sum = (A)0;
  for (i64 i = first; i < last; ++i) {
    const i64 at = REVERSE ? count - 1 - i : i;
    sum += (A)widen(in[begin + at * inner]);
  }
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 1; step < TX; step *= 2) {
    const A before = tx >= step ? shared[threadIdx.x - step] : (A)0;
    __syncthreads();
    shared[threadIdx.x] += before;
    __syncthreads();
  }
  A running = tx > 0 ? shared[threadIdx.x - 1] : (A)0;
  for (i64 i = first; i < last; ++i) {
    const i64 at = begin + (REVERSE ? count - 1 - i : i) * inner;
    const A before = running;
    running += (A)widen(in[at]);
    out[at] = narrow<T>((C)(EXCLUSIVE ? before : running));
  }
}
