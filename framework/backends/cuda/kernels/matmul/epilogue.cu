// SPDX-License-Identifier: Apache-2.0
// What kernels do with a sum before they store it. BIAS, RESIDUAL: are there such arrays? RELU.

// `column` is the element's in its row, `index` its place.
template <class T>
__device__ __forceinline__ T finished(typename Computed<T>::type value, const T* bias,
                                      const T* residual, i64 column, i64 index) {
  if (BIAS) value += widen(bias[column]);
  if (RESIDUAL) value += widen(residual[index]);
  if (RELU && value < 0) value = 0;
  return narrow<T>(value);
}
