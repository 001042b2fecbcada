// SPDX-License-Identifier: Apache-2.0
// ONE_HOT: y[row, c] is 1 if c is the row's index, otherwise 0. Otherwise (iota): y[o, i, c] = i,
// for i < length and c < inner, without reading anything. Each thread computes W adjacent elements.
#define NUMBER(ROW) (ONE_HOT ? (i64)indices[ROW] : (i64)((ROW) % (I)length))

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const N* indices, T* __restrict__ y SIZES) {
  const I first = ((I)blockIdx.x * 256 + threadIdx.x) * W;
  if (first >= (I)count) return;
  I row = first / (I)inner, column = first - row * (I)inner;
  i64 number = NUMBER(row);
  Vector result;
#pragma unroll
  for (int i = 0; i < W; ++i) {
    result.v[i] = narrow<T>((C)(ONE_HOT ? (i64)(number == (i64)column) : number));
    if (++column == (I)inner && first + i + 1 < (I)count) {
      column = 0;
      ++row;
      number = NUMBER(row);
    }
  }
  if (first + W <= (I)count) {
    *(Vector*)(y + first) = result;
  } else {
#pragma unroll
    for (int i = 0; i < W; ++i) {
      if (first + i < (I)count) y[first + i] = result.v[i];
    }
  }
}
