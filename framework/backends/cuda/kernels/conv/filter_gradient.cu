// SPDX-License-Identifier: Apache-2.0
// The gradient of a convolution's filter: one thread per element and part (blockIdx.y) of the
// outputs.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ x, const T* __restrict__ dy, C* __restrict__ parts SIZES) {
  const i64 index = thread_number();
  if (index >= count) return;
  const i64 c = index % filters;
  const i64 tap = index / filters / in_group;
  const i64 offset0 = tap / taps2 / taps1 * dil0 - low0;
  const i64 offset1 = tap / taps2 % taps1 * dil1 - low1;
  const i64 offset2 = tap % taps2 * dil2 - low2;
  x += c / out_group * in_group + index / filters % in_group;
  dy += c;
  i64 position = (i64)blockIdx.y * each;
  const i64 end = position + each < positions ? position + each : positions;
  i64 o2 = position % out2;
  i64 o1 = position / out2 % out1;
  i64 o0 = position / out2 / out1 % out0;
  i64 n = position / out2 / out1 / out0;
  C sum = (C)0;
  for (; position < end; ++position) {
    const i64 p0 = o0 * step0 + offset0;
    const i64 p1 = o1 * step1 + offset1;
    const i64 p2 = o2 * step2 + offset2;
    if (p0 >= 0 && p0 < in0 && p1 >= 0 && p1 < in1 && p2 >= 0 && p2 < in2) {
      sum += widen(x[(((n * in0 + p0) * in1 + p1) * in2 + p2) * channels]) *
             widen(dy[position * filters]);
    }
    if (++o2 < out2) continue;
    o2 = 0;
    if (++o1 < out1) continue;
    o1 = 0;
    if (++o0 < out0) continue;
    o0 = 0;
    ++n;
  }
  parts[(i64)blockIdx.y * count + index] = sum;
}
