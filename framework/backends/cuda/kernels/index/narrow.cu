// SPDX-License-Identifier: Apache-2.0
// Rounds sums to 16-bit floats.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const f32* __restrict__ sums, T* __restrict__ y, i64 count) {
  const i64 i = thread_number();
  if (i < count) y[i] = narrow<T>(sums[i]);
}
