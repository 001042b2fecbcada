// SPDX-License-Identifier: Apache-2.0
// y (rows, inner): the rows of x with these numbers; zeros for -1.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const Vector* __restrict__ x, const i64* __restrict__ numbers, Vector* __restrict__ y,
           i64 count, i64 inner) {
  const i64 i = thread_number();
  if (i >= count) return;
  const i64 row = i / inner, number = numbers[row];
  y[i] = number < 0 ? Vector{} : x[number * inner + (i - row * inner)];
}
