// SPDX-License-Identifier: Apache-2.0
// What the library adds to scaled scores: out (batch, heads, rows, stride), one warp per row. It is
// the bias, or a value below any score if the mask hides the element. Rows with only hidden scores
// get nothing added, and seen (batch, heads, rows) is false for them: with a query of zeros they
// average all values.
#define LOWEST (IS_F16 ? -65504.0f : -0.7f * 3.402823466e38f)

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ bias, const boolean* __restrict__ mask, T* __restrict__ out,
           boolean* __restrict__ seen, i64 count, i64 heads, i64 rows, i64 columns, i64 stride,
           i64 bias_b, i64 bias_h, i64 bias_r, i64 bias_c, i64 mask_b, i64 mask_h, i64 mask_r,
           i64 mask_c) {
  const int lane = threadIdx.x % 32;
  for (i64 item = thread_number() / 32; item < count; item += thread_count() / 32) {
    const i64 row = item % rows;
    const i64 head = item / rows % heads;
    const i64 batch = item / rows / heads;
    const T* const biases = bias + batch * bias_b + head * bias_h + row * bias_r;
    const boolean* const masks = mask + batch * mask_b + head * mask_h + row * mask_r;
    const auto shows = [&](i64 column) {
      return !MASKED || (masks[column * mask_c] && !(CAUSAL && column > row));
    };
    int any = 0;
    for (i64 column = lane; column < columns; column += 32) any |= shows(column);
    any = __any_sync(0xffffffffu, any);
    for (i64 column = lane; column < stride; column += 32) {
      f32 value = 0.0f;
      if (column < columns && any) {
        if (BIASED) value = widen(biases[column * bias_c]);
        if (!shows(column)) value = LOWEST;
      }
      out[item * stride + column] = narrow<T>(value);
    }
    if (lane == 0) seen[item] = any != 0;
  }
}
