// SPDX-License-Identifier: Apache-2.0
// Softmax of [outer, count, inner] along `count`, a group of threads (groups.cu) for each row; where
// inner is more than 1, rows are columns. T is stored, C computed with; KIND: SOFTMAX, LOG_SOFTMAX,
// CROSS_ENTROPY (targets S) or SPARSE_CROSS_ENTROPY (labels S). SHORT: a thread has at most EACH
// elements of a row, which it keeps; else it reads them a second time.
#define EACH 8

__device__ __forceinline__ f32 exponential(f32 x) { return expf(x); }
__device__ __forceinline__ f64 exponential(f64 x) { return exp(x); }
__device__ __forceinline__ f32 logarithm(f32 x) { return logf(x); }
__device__ __forceinline__ f64 logarithm(f64 x) { return log(x); }

struct Larger {
  __device__ __forceinline__ static C of(C a, C b) {
    return a != a ? a : (b != b ? b : (a > b ? a : b));
  }
};
struct Sum {
  __device__ __forceinline__ static C of(C a, C b) { return a + b; }
};

// EACH elements from `i` on, `step` apart; those from `end` on are -infinity, which changes neither a
// maximum nor a sum of exponentials.
__device__ __forceinline__ void read(const T* row, i64 i, i64 step, i64 end, i64 inner, C* values) {
#pragma unroll
  for (int k = 0; k < EACH; ++k, i += step) {
    values[k] = i < end ? (C)widen(row[i * inner]) : (C)(-CORNU_INFINITY);
  }
}

// Of what a row's loss is made.
struct Loss {
  i64 label;
  C weights;   // the targets' sum
  C weighted;  // sum of targets by logits

  template <class Second>
  __device__ __forceinline__ void add(const Second* seconds, i64 at, i64 i, C shifted) {
#if KIND == CROSS_ENTROPY
    const C target = widen(seconds[at]);
    weights += target;
    if (target != (C)0) weighted += target * shifted;
#elif KIND == SPARSE_CROSS_ENTROPY
    if (i == label) weighted = shifted;
#endif
  }
};

#if KIND == SPARSE_CROSS_ENTROPY
// The row's label; -1 for one that is left out, or refused.
__device__ __forceinline__ i64 checked_label(i64 label, i64 count, i64 ignored, i64 row, bool tells,
                                             i64* status, i64 check) {
  if (label == ignored && ignored != -9223372036854775807ll - 1) return -1;
  if (label >= 0 && label < count) return label;
  if (tells) {
    // Both numbers in one; labels that have no room are the closest that have.
    const i64 most = 2147483647;
    const i64 told = label > most ? most : (label < -most - 1 ? -most - 1 : label);
    report(status, check, (i64)((u64)row << 32 | (u32)(i32)told));
  }
  return -1;
}
#endif

// `seconds`: targets or labels; `losses`: a number for each row. Both unused for softmax itself.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, T* __restrict__ out, i64 outer, i64 count, i64 inner, i64 width,
           i64 depth, const S* __restrict__ seconds, T* __restrict__ losses, i64 ignored, i64* status,
           i64 check) {
  __shared__ C shared[256];
  const Group group(width, depth);
  const i64 tiles = (inner + group.width - 1) / group.width;
  const i64 item = group.number / tiles;
  const i64 column = group.number % tiles * group.width + group.column;
  const bool exists = item < outer && column < inner;
  const i64 begin = exists ? item * count * inner + column : 0;
  const i64 end = exists ? count : 0;
#if KIND == CROSS_ENTROPY || KIND == SPARSE_CROSS_ENTROPY
  const i64 row = item * inner + column;
#endif
  Loss loss = {-1, (C)0, (C)0};
#if KIND == SPARSE_CROSS_ENTROPY
  if (exists) {
    loss.label = checked_label((i64)seconds[row], count, ignored, row, group.row == 0, status, check);
  }
#endif

  C values[EACH];
#if SHORT
  read(in + begin, group.row, group.depth, end, inner, values);
  C largest = values[0];
#pragma unroll
  for (int k = 1; k < EACH; ++k) largest = Larger::of(largest, values[k]);
  const C max = of_group<Larger>(group, largest, shared);
  C sum = (C)0;
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const i64 i = group.row + (i64)k * group.depth;
    const C shifted = values[k] - max;
    const C power = exponential(shifted);
    if (i < end) {
      sum += power;
      loss.add(seconds, begin + i * inner, i, shifted);
    }
    values[k] = KIND == LOG_SOFTMAX ? shifted : power;
  }
  const C all = of_group<Sum>(group, sum, shared);
#else
  // The sum of exponentials of what a thread has read, relative to the largest of it.
  C largest = (C)(-CORNU_INFINITY);
  C sum = (C)0;
  for (i64 i = group.row; i < end; i += (i64)EACH * group.depth) {
    read(in + begin, i, group.depth, end, inner, values);
    C larger = largest;
#pragma unroll
    for (int k = 0; k < EACH; ++k) larger = Larger::of(larger, values[k]);
    if (larger != (C)(-CORNU_INFINITY)) {
      sum *= exponential(largest - larger);
#pragma unroll
      for (int k = 0; k < EACH; ++k) sum += exponential(values[k] - larger);
    }
    largest = larger;
  }
  const C max = of_group<Larger>(group, largest, shared);
  if (largest != (C)(-CORNU_INFINITY)) sum *= exponential(largest - max);
  const C all = of_group<Sum>(group, sum, shared);
#endif

  const C log_of_all = logarithm(all);
  const C factor = (C)1 / all;
#if SHORT
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const i64 i = group.row + (i64)k * group.depth;
    const C result = KIND == LOG_SOFTMAX ? values[k] - log_of_all : values[k] * factor;
    if (i < end) out[begin + i * inner] = narrow<T>(result);
  }
#else
#pragma unroll 4
  for (i64 i = group.row; i < end; i += group.depth) {
    const i64 at = begin + i * inner;
    const C shifted = (C)widen(in[at]) - max;
    loss.add(seconds, at, i, shifted);
    out[at] = narrow<T>(KIND == LOG_SOFTMAX ? shifted - log_of_all : exponential(shifted) * factor);
  }
#endif

#if KIND == CROSS_ENTROPY
  const C weights = of_group<Sum>(group, loss.weights, shared);
  const C weighted = of_group<Sum>(group, loss.weighted, shared);
  if (exists && group.row == 0) {
    losses[row] = narrow<T>(count > 0 ? log_of_all * weights - weighted : (C)0);
  }
#elif KIND == SPARSE_CROSS_ENTROPY
  // Written by the thread that has the label's logit.
  const i64 writer = loss.label < 0 ? 0 : loss.label % group.depth;
  if (exists && group.row == writer) {
    losses[row] = narrow<T>(loss.label < 0 ? (C)0 : log_of_all - loss.weighted);
  }
#endif
}
