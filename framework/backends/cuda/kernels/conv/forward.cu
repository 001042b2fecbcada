// SPDX-License-Identifier: Apache-2.0
// y = conv(x, filter): one thread per element of y.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ x, const T* __restrict__ filter, T* __restrict__ y,
           const T* __restrict__ bias, const T* __restrict__ residual SIZES) {
  const i64 index = thread_number();
  if (index >= count) return;
  const i64 c = index % filters;
  i64 rest = index / filters;
  const i64 o2 = rest % out2;
  rest /= out2;
  const i64 o1 = rest % out1;
  rest /= out1;
  const i64 o0 = rest % out0;
  const i64 n = rest / out0;
  x += c / out_group * in_group;
  filter += c;
  C sum = (C)0;
  for (i64 t0 = 0; t0 < taps0; ++t0) {
    const i64 p0 = o0 * step0 + t0 * dil0 - low0;
    if (p0 < 0 || p0 >= in0) continue;
    for (i64 t1 = 0; t1 < taps1; ++t1) {
      const i64 p1 = o1 * step1 + t1 * dil1 - low1;
      if (p1 < 0 || p1 >= in1) continue;
      for (i64 t2 = 0; t2 < taps2; ++t2) {
        const i64 p2 = o2 * step2 + t2 * dil2 - low2;
        if (p2 < 0 || p2 >= in2) continue;
        const T* from = x + (((n * in0 + p0) * in1 + p1) * in2 + p2) * channels;
        const T* weights = filter + ((t0 * taps1 + t1) * taps2 + t2) * in_group * filters;
        for (i64 i = 0; i < in_group; ++i) sum += widen(from[i]) * widen(weights[i * filters]);
      }
    }
  }
  y[index] = finished<T>(sum, bias, residual, c, index);
}
