// SPDX-License-Identifier: Apache-2.0
// The maxima of windows, W channels of one window per thread. GIVES: VALUES, NUMBERS (their
// positions in the window) or SELECTED (the elements of `other`, shaped like x, at the maxima).
#define VALUES 0
#define NUMBERS 1
#define SELECTED 2

#if GIVES == NUMBERS
struct alignas(sizeof(N) * W <= 16 ? sizeof(N) * W : 16) Result {
  N v[W];
};
#else
typedef Vector Result;
#endif

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const S* __restrict__ x, const S* __restrict__ other, void* __restrict__ out SIZES) {
  if (thread_number() >= count) return;
  const I index = (I)thread_number();
  const Place y = place_at(index, out0, out1, out2, channels);
  const Extent e0 = extent_of(y.at0, step0, low0, window0, in0);
  const Extent e1 = extent_of(y.at1, step1, low1, window1, in1);
  const Extent e2 = extent_of(y.at2, step2, low2, window2, in2);
  C best[W];
  I place[W];  // of the maxima: in x for SELECTED, otherwise in the window
#pragma unroll
  for (int v = 0; v < W; ++v) {
    best[v] = LOWEST;
    place[v] = -1;
  }
  for (I i = e0.begin; i < e0.end; ++i) {
    for (I j = e1.begin; j < e1.end; ++j) {
      for (I k = e2.begin; k < e2.end; ++k) {
        const I row = (y.n * (I)in0 + e0.first + i) * (I)in1 + e1.first + j;
        const I from = (row * (I)in2 + e2.first + k) * (I)channels + y.c;
        const I number = (i * (I)window1 + j) * (I)window2 + k;
        const Vector values = *(const Vector*)(x + from);
#pragma unroll
        for (int v = 0; v < W; ++v) {
          const C value = widen(values.v[v]);
          // The first of equal ones; NaN wins over everything.
          if (value > best[v] || value != value || place[v] < 0) {
            best[v] = value;
            place[v] = GIVES == SELECTED ? from + v : number;
          }
        }
      }
    }
  }
  Result result;
#pragma unroll
  for (int v = 0; v < W; ++v) {
#if GIVES == VALUES
    result.v[v] = narrow<S>(best[v]);
#elif GIVES == NUMBERS
    result.v[v] = (N)place[v];
#else
    result.v[v] = place[v] < 0 ? narrow<S>((C)0) : other[place[v]];
#endif
  }
  ((Result*)out)[index] = result;
}
