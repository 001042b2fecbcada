// SPDX-License-Identifier: Apache-2.0
// The gradient of a convolution's input: one thread per element, which reads the outputs that the
// element contributed to.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ dy, const T* __restrict__ filter, T* __restrict__ dx SIZES) {
  const i64 index = thread_number();
  if (index >= count) return;
  const i64 c = index % channels;
  i64 rest = index / channels;
  const i64 p2 = rest % in2;
  rest /= in2;
  const i64 p1 = rest % in1;
  rest /= in1;
  const i64 p0 = rest % in0;
  const i64 n = rest / in0;
  const i64 first = c / in_group * out_group;
  C sum = (C)0;
  for (i64 t0 = 0; t0 < taps0; ++t0) {
    const i64 at0 = p0 + low0 - t0 * dil0;
    if (at0 < 0 || at0 % step0 != 0 || at0 / step0 >= out0) continue;
    for (i64 t1 = 0; t1 < taps1; ++t1) {
      const i64 at1 = p1 + low1 - t1 * dil1;
      if (at1 < 0 || at1 % step1 != 0 || at1 / step1 >= out1) continue;
      for (i64 t2 = 0; t2 < taps2; ++t2) {
        const i64 at2 = p2 + low2 - t2 * dil2;
        if (at2 < 0 || at2 % step2 != 0 || at2 / step2 >= out2) continue;
        const i64 position = ((n * out0 + at0 / step0) * out1 + at1 / step1) * out2 + at2 / step2;
        const i64 row = ((t0 * taps1 + t1) * taps2 + t2) * in_group + c % in_group;
        const T* from = dy + position * filters + first;
        const T* weights = filter + row * filters + first;
        for (i64 j = 0; j < out_group; ++j) sum += widen(from[j]) * widen(weights[j]);
      }
    }
  }
  dx[index] = narrow<T>(sum);
}
