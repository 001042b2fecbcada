// SPDX-License-Identifier: Apache-2.0
// Softmax of the rows of [outer, count, inner] along `count`, by TX threads for each row; where
// inner is more than 1, rows are columns. T is stored, C computed with; KIND: SOFTMAX, LOG_SOFTMAX,
// CROSS_ENTROPY (targets T) or SPARSE_CROSS_ENTROPY (labels L).
#define SOFTMAX 0
#define LOG_SOFTMAX 1
#define CROSS_ENTROPY 2
#define SPARSE_CROSS_ENTROPY 3

__device__ __forceinline__ f32 exponential(f32 x) { return expf(x); }
__device__ __forceinline__ f64 exponential(f64 x) { return exp(x); }
__device__ __forceinline__ f32 logarithm(f32 x) { return logf(x); }
__device__ __forceinline__ f64 logarithm(f64 x) { return log(x); }

__device__ __forceinline__ C larger(C a, C b) {
  return a != a ? a : (b != b ? b : (a > b ? a : b));
}

// Of the values that the TX threads of a row have; all get the result.
template <bool MAXIMUM>
__device__ __forceinline__ C of_row(C value, C* shared) {
  const int tx = threadIdx.x % TX;
  __syncthreads();
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = TX / 2; half > 0; half /= 2) {
    if (tx < half) {
      const C a = shared[threadIdx.x];
      const C b = shared[threadIdx.x + half];
      shared[threadIdx.x] = MAXIMUM ? larger(a, b) : a + b;
    }
    __syncthreads();
  }
  return shared[threadIdx.x - tx];
}

// `second`: targets or labels; `losses`: a number for each row. Both unread for softmax itself.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, T* __restrict__ out, i64 rows, i64 count, i64 inner,
           const S* __restrict__ second, T* __restrict__ losses, i64 ignored, i64* status,
           i64 check) {
  __shared__ C shared[256];
  const int tx = threadIdx.x % TX;
  const i64 row = (i64)blockIdx.x * (256 / TX) + threadIdx.x / TX;
  const bool exists = row < rows;
  const i64 begin = exists ? row / inner * count * inner + row % inner : 0;
  const i64 end = exists ? count : 0;
  C largest = -CORNU_INFINITY;
  for (i64 i = tx; i < end; i += TX) largest = larger(largest, (C)widen(in[begin + i * inner]));
  const C max = of_row<true>(largest, shared);
  C sum = (C)0;
  C weights = (C)0;
  C weighted = (C)0;
  for (i64 i = tx; i < end; i += TX) {
    const C shifted = (C)widen(in[begin + i * inner]) - max;
    sum += exponential(shifted);
#if KIND == CROSS_ENTROPY
    const C target = (C)widen(second[begin + i * inner]);
    weights += target;
    if (target != (C)0) weighted += target * shifted;
#endif
  }
  const C all = of_row<false>(sum, shared);
#if KIND == CROSS_ENTROPY
  const C of_weights = of_row<false>(weights, shared);
  const C of_weighted = of_row<false>(weighted, shared);
  if (exists && tx == 0) {
    losses[row] = narrow<T>(count > 0 ? logarithm(all) * of_weights - of_weighted : (C)0);
  }
#endif
#if KIND == SPARSE_CROSS_ENTROPY
  if (exists && tx == 0) {
    const i64 label = (i64)second[row];
    const bool is_ignored = label == ignored && ignored != -9223372036854775807ll - 1;
    const bool is_class = label >= 0 && label < count;
    if (!is_ignored && !is_class) {
      // Both numbers in one; labels that have no room are the closest that have.
      const i64 most = 2147483647;
      const i64 told = label > most ? most : (label < -most - 1 ? -most - 1 : label);
      report(status, check, (i64)((u64)row << 32 | (u32)(i32)told));
    }
    C loss = (C)0;
    if (is_class && !is_ignored) loss = logarithm(all) - ((C)widen(in[begin + label]) - max);
    losses[row] = narrow<T>(loss);
  }
#endif
#if KIND == SPARSE_CROSS_ENTROPY
  __syncthreads();  // the label's logit has been read before a result may take its place
#endif
#if KIND == LOG_SOFTMAX
  const C log_of_all = logarithm(all);
#else
  const C factor = (C)1 / all;
#endif
  for (i64 i = tx; i < end; i += TX) {
    const C shifted = (C)widen(in[begin + i * inner]) - max;
#if KIND == LOG_SOFTMAX
    out[begin + i * inner] = narrow<T>(shifted - log_of_all);
#else
    out[begin + i * inner] = narrow<T>(exponential(shifted) * factor);
#endif
  }
}
