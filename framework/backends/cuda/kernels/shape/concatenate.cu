// SPDX-License-Identifier: Apache-2.0
// Places rows of several arrays side by side: columns [begin, begin + columns) of y, whose rows
// have `row` elements. INPUTS: parameters in0, in1, …; CHOOSE: sets `from` to the input that
// contains column `at`, `first` to its first column and `length` to its number of columns.
#define EACH 4

extern "C" __global__ void __launch_bounds__(256) KERNEL(INPUTS, Vector* __restrict__ y SIZES) {
  const I start = (I)blockIdx.x * (256 * EACH) + threadIdx.x;
  Vector values[EACH];
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const I e = start + k * 256;
    if (e >= (I)count) break;
    const I line = e / (I)columns, at = e - line * (I)columns;
    const Vector* from;
    I first, length;
    CHOOSE
    values[k] = from[line * length + (at - first)];
  }
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const I e = start + k * 256;
    if (e >= (I)count) break;
    const I line = e / (I)columns;
    y[line * (I)row + (I)begin + (e - line * (I)columns)] = values[k];
  }
}
