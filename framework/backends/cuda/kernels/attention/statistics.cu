// SPDX-License-Identifier: Apache-2.0
// Statistics of attention's rows between the library's form, logarithms of the sums of
// exponentials, and the op's: the largest score, and the sum of exponentials of scores less that. A
// logarithm is the latter with a sum of 1. FROM_LIBRARY or to it.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(f32* __restrict__ logarithms, f32* __restrict__ statistics, i64 count) {
  for (i64 i = thread_number(); i < count; i += thread_count()) {
    if (FROM_LIBRARY) {
      statistics[2 * i] = logarithms[i];
      statistics[2 * i + 1] = 1.0f;
    } else {
      logarithms[i] = statistics[2 * i] + logf(statistics[2 * i + 1]);
    }
  }
}
