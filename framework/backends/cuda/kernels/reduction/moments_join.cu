// SPDX-License-Identifier: Apache-2.0
// Joins the moments of parts of the rows: `sums` of the columns, and `squares` of their deviations
// from the mean. A block has TX columns.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const S* __restrict__ x, const C* __restrict__ means, const C* __restrict__ part_squares,
           C* __restrict__ sums, C* __restrict__ squares, i64 parts, i64 rows, i64 columns,
           i64 each) {
  __shared__ Moments<C> shared[256];
  const int ty = threadIdx.x / TX;
  const i64 c = (i64)blockIdx.x * TX + threadIdx.x % TX;
  Moments<C> own = {(C)0, (C)0, (C)0};
  if (c < columns) {
    for (i64 p = ty; p < parts; p += 256 / TX) {
      const i64 count = min_of((p + 1) * each, rows) - p * each;
      own =
          joined(own, Moments<C>{(C)count, means[p * columns + c], part_squares[p * columns + c]});
    }
  }
  const Moments<C> all = joined_below<C, TX>(shared, own);
  if (ty == 0 && c < columns) {
    sums[c] = (pivot_of<C>(widen(x[c])) + all.mean) * (C)rows;
    squares[c] = all.square;
  }
}
