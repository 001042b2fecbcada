// SPDX-License-Identifier: Apache-2.0
// For each column of x (rows, columns) and a part of the rows: the difference between the mean of
// its elements and the column's first element, and the sum of their squared deviations from that
// mean. A block has TX threads along a row, each with W columns; threads with the same columns
// share the part (blockIdx.y). A thread sums up differences to its first element, so that no
// precision is lost if a mean is far from zero (Chan, Golub, LeVeque, "Updating formulae and a
// pairwise algorithm for computing sample variances", 1979).
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const S* __restrict__ x, C* __restrict__ means, C* __restrict__ squares, i64 rows,
           i64 columns, i64 each) {
  __shared__ Moments<C> shared[256];
  const int tx = threadIdx.x % TX;
  const int ty = threadIdx.x / TX;
  const I c = ((I)blockIdx.x * TX + tx) * W;
  const I first = (I)blockIdx.y * (I)each + ty;
  const I last = min_of((I)(blockIdx.y + 1) * (I)each, (I)rows);
  C pivot[W] = {};
  C sum[W] = {};
  C square[W] = {};
  I count = 0;
  if (c < (I)columns && first < last) {
    const Vector values = *(const Vector*)(x + first * (I)columns + c);
#pragma unroll
    for (int v = 0; v < W; ++v) pivot[v] = pivot_of<C>(widen(values.v[v]));
  }
#pragma unroll 4
  for (I r = first; c < (I)columns && r < last; r += 256 / TX) {
    const Vector values = *(const Vector*)(x + r * (I)columns + c);
#pragma unroll
    for (int v = 0; v < W; ++v) {
      const C distance = widen(values.v[v]) - pivot[v];
      sum[v] += distance;
      square[v] += distance * distance;
    }
    ++count;
  }
#pragma unroll
  for (int v = 0; v < W; ++v) {
    const C shift = count > 0 ? pivot[v] - pivot_of<C>(widen(x[c + v])) : (C)0;
    const Moments<C> own = of_sums<C>((C)count, shift, sum[v], square[v]);
    const Moments<C> all = joined_below<C, TX>(shared, own);
    if (ty == 0 && c < (I)columns) {
      means[(i64)blockIdx.y * columns + c + v] = all.mean;
      squares[(i64)blockIdx.y * columns + c + v] = all.square;
    }
  }
}
