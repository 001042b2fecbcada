// SPDX-License-Identifier: Apache-2.0
// argmax and argmin along `count` of [outer, count, inner]: the first of the most extreme elements,
// of which NaN is the most. TX threads for each result.
__device__ __forceinline__ bool comes_before(C a, C b) { return a < b || (b != b && a == a); }

__device__ __forceinline__ bool better(C a, C b) {
#if LARGEST
  return comes_before(b, a);
#else
  return (a < b && b == b) || (a != a && b == b);
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, i32* __restrict__ out, i64 rows, i64 count, i64 inner) {
  __shared__ C best[256];
  __shared__ i32 place[256];
  const int tx = threadIdx.x % TX;
  const i64 row = (i64)blockIdx.x * (256 / TX) + threadIdx.x / TX;
  const bool exists = row < rows && tx < count;
  const i64 begin = exists ? row / inner * count * inner + row % inner : 0;
  C value = exists ? (C)widen(in[begin + tx * inner]) : (C)0;
  i32 index = tx;
  for (i64 i = tx + TX; exists && i < count; i += TX) {
    const C other = widen(in[begin + i * inner]);
    if (better(other, value)) {
      value = other;
      index = (i32)i;
    }
  }
  best[threadIdx.x] = value;
  place[threadIdx.x] = exists ? index : -1;
  __syncthreads();
  for (int half = TX / 2; half > 0; half /= 2) {
    const int other = threadIdx.x + half;
    if (tx < half && place[other] >= 0) {
      const bool equal =
          !better(best[other], best[threadIdx.x]) && !better(best[threadIdx.x], best[other]);
      const bool first = equal && place[other] < place[threadIdx.x];
      if (first || better(best[other], best[threadIdx.x])) {
        best[threadIdx.x] = best[other];
        place[threadIdx.x] = place[other];
      }
    }
    __syncthreads();
  }
  if (tx == 0 && row < rows) out[row] = place[threadIdx.x];
}
