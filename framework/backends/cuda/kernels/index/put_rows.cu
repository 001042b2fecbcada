// SPDX-License-Identifier: Apache-2.0
// Rows of y with numbers that aren't -1 become those of `values`. Nothing where some kernel has
// refused what it was given: numbers were made of it, perhaps.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const i64* __restrict__ numbers, const Vector* __restrict__ values,
           Vector* __restrict__ y, const i64* __restrict__ status, i64 count, i64 inner) {
  const i64 i = thread_number();
  if (i >= count || status[0] != 0) return;
  const i64 row = i / inner, number = numbers[row];
  if (number >= 0) y[number * inner + (i - row * inner)] = values[i];
}
