// SPDX-License-Identifier: Apache-2.0
// Replaces the rows of y whose numbers aren't -1 by those of `values`. No-op if any kernel has
// rejected a value: the numbers may have been computed from it.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const i64* __restrict__ numbers, const Vector* __restrict__ values,
           Vector* __restrict__ y, const i64* __restrict__ status, i64 count, i64 inner) {
  const i64 i = thread_number();
  if (i >= count || status[0] != 0) return;
  const i64 row = i / inner, number = numbers[row];
  if (number >= 0) y[number * inner + (i - row * inner)] = values[i];
}
