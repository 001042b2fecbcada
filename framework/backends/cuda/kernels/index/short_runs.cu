// SPDX-License-Identifier: Apache-2.0
// Adds updates with equal keys, which are adjacent, in order: one thread for the start of each run
// and a vector of columns. Runs of more than `longest` are skipped. y: (…, size, inner), at the key
// or, with BY_RUN, at the position of the start of the run; updates: (…, length, inner), in
// vectors.
#define AHEAD 4

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const K* __restrict__ keys, const K* __restrict__ order,
           const Vector* __restrict__ updates, Vector* __restrict__ y SIZES) {
  const I e = (I)blockIdx.x * 256 + threadIdx.x;
  if (e >= (I)count) return;
  const I row = e / (I)inner, column = e - row * (I)inner;
  const I outer = row / (I)length, first = row - outer * (I)length;
  const K key = keys[first];
  if (first > 0 && keys[first - 1] == key) return;
  if (first + (I)longest < (I)length && keys[first + (I)longest] == key) return;
  const Vector* const from = updates + outer * (I)length * (I)inner + column;
  C sum[W];
#pragma unroll
  for (int v = 0; v < W; ++v) sum[v] = (C)0;
  bool more = true;
  for (I i = first; more; i += AHEAD) {
    Vector next[AHEAD];
    bool has[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) {
      has[k] = i + k < (I)length && keys[i + k] == key;
      if (has[k]) next[k] = from[(I)order[i + k] * (I)inner];
    }
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) {
#pragma unroll
      for (int v = 0; v < W; ++v) {
        if (has[k]) sum[v] = (C)(sum[v] + widen(next[k].v[v]));
      }
    }
    more = has[AHEAD - 1];
  }
  Vector result;
#pragma unroll
  for (int v = 0; v < W; ++v) result.v[v] = narrow<S>(sum[v]);
  y[(outer * (I)size + (BY_RUN ? first : (I)key)) * (I)inner + column] = result;
}
