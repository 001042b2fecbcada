// SPDX-License-Identifier: Apache-2.0
// Converts statistics of attention's rows between the library's form, logarithms of the sums of
// exponentials, and the op's: the maximum score, and the sum of exponentials relative to it. A
// logarithm corresponds to a maximum with a sum of 1. FROM_LIBRARY: the direction. Rows in which
// the mask leaves no scores (seen) have the statistics of hidden scores in the op's form, and of
// `columns` zeros in the library's.
#define HIDDEN (-0.7f * 3.402823466e38f)

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(f32* __restrict__ logarithms, f32* __restrict__ statistics,
           const boolean* __restrict__ seen, i64 count, i64 rows, i64 heads, i64 columns,
           i64 seen_b, i64 seen_h) {
  for (i64 i = thread_number(); i < count; i += thread_count()) {
    const boolean is_seen =
        !MASKED || seen[i / rows / heads * seen_b + i / rows % heads * seen_h + i % rows];
    if (FROM_LIBRARY) {
      statistics[2 * i] = is_seen ? logarithms[i] : HIDDEN;
      statistics[2 * i + 1] = is_seen ? 1.0f : (f32)columns;
    } else {
      logarithms[i] =
          is_seen ? statistics[2 * i] + logf(statistics[2 * i + 1]) : logf((f32)columns);
    }
  }
}
