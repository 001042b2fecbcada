// SPDX-License-Identifier: Apache-2.0
// Applies an epilogue to rows of existing elements, W per thread.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(S* y, const S* __restrict__ bias, const S* __restrict__ residual SIZES) {
  const i64 index = thread_number() * W;
  if (index >= count) return;
  const i64 column = index % columns;
  Vector values = *(const Vector*)(y + index);
#pragma unroll
  for (int v = 0; v < W; ++v) {
    values.v[v] = finished<S>(widen(values.v[v]), bias, residual, column + v, index + v);
  }
  *(Vector*)(y + index) = values;
}
