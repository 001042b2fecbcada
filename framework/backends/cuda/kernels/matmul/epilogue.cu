// SPDX-License-Identifier: Apache-2.0
// Applied to a sum before it is stored. BIAS, RESIDUAL: whether there are such arrays. RELU.

// `column` is the element's column in its row, `index` its index.
template <class T>
__device__ __forceinline__ T finished(typename Computed<T>::type value, const T* bias,
                                      const T* residual, i64 column, i64 index) {
  if (BIAS) value += widen(bias[column]);
  if (RESIDUAL) value += widen(residual[index]);
  if (RELU && value < 0) value = 0;
  return narrow<T>(value);
}
