// SPDX-License-Identifier: Apache-2.0
// For attention's gradient: the sum of dy * output of each row, one warp per row.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ y, const T* __restrict__ dy, C* __restrict__ means, i64 batch,
           i64 rows, i64 heads, i64 width) {
  const int lane = threadIdx.x % 32;
  const i64 count = batch * rows * heads;
  for (i64 item = thread_number() / 32; item < count; item += thread_count() / 32) {
    C sum = (C)0;
    for (i64 i = lane; i < width; i += 32) {
      sum += (C)widen(y[item * width + i]) * (C)widen(dy[item * width + i]);
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    const i64 head = item % heads;
    const i64 row = item / heads % rows;
    if (lane == 0) means[(item / heads / rows * heads + head) * rows + row] = sum;
  }
}
