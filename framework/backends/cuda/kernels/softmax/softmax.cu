// SPDX-License-Identifier: Apache-2.0
// Softmax of [outer, count, inner] along `count`, with one thread group (groups.cu) per row; if
// inner is more than 1, rows are columns. T is stored, C used for computing; KIND: SOFTMAX,
// LOG_SOFTMAX, CROSS_ENTROPY (targets S) or SPARSE_CROSS_ENTROPY (labels S). SHORT: a thread has at
// most EACH elements of a row, which it keeps; otherwise it reads them a second time.
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

// EACH elements starting at `i`, at a stride of `step`; those beyond `end` are -infinity, which
// affects neither a maximum nor a sum of exponentials.
__device__ __forceinline__ void read(const T* row, i64 i, i64 step, i64 end, i64 inner, C* values) {
#pragma unroll
  for (int k = 0; k < EACH; ++k, i += step) {
    values[k] = i < end ? (C)widen(row[i * inner]) : (C)(-CORNU_INFINITY);
  }
}

// What a row's loss is computed from.
struct Loss {
  i64 label;
  C weights;   // the targets' sum
  C weighted;  // sum of targets times logits

  __device__ __forceinline__ void add(const S* seconds, i64 at, i64 i, C shifted) {
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
// The row's label; -1 if it is ignored or rejected.
__device__ __forceinline__ i64 checked_label(i64 label, i64 count, i64 ignored, i64 row, bool tells,
                                             i64* status, i64 check) {
  if (label == ignored && ignored != -9223372036854775807ll - 1) return -1;
  if (label >= 0 && label < count) return label;
  if (tells) {
    // Both numbers in one, which leaves no room for labels beyond i32. The lowest i32 is reported
    // as it is: it is the result of converting a float label that isn't finite.
    const i64 most = 2147483647;
    const i64 told = label > most ? most : (label < -most - 1 ? -most : label);
    report(status, check, (i64)((u64)row << 32 | (u32)(i32)told));
  }
  return -1;
}
#endif

// A thread's part of a row.
struct Row {
  Group group;
  bool exists;
  i64 number;
  i64 begin;  // offset of its first element
  i64 end;    // number of elements
  i64 inner;  // stride between elements

  __device__ __forceinline__ Row(i64 outer, i64 count, i64 inner_count, i64 width, i64 depth)
      : group(width, depth), inner(inner_count) {
    const i64 tiles = (inner + width - 1) / width;
    const i64 item = group.number / tiles;
    const i64 column = group.number % tiles * width + group.column;
    exists = item < outer && column < inner;
    number = item * inner + column;
    begin = exists ? item * count * inner + column : 0;
    end = exists ? count : 0;
  }
};

// A row's maximum, and the sum of exponentials relative to it.
struct Total {
  C max;
  C sum;
};

#if SHORT

// Replaces `values` by exponentials, or by their logarithms, relative to the maximum.
__device__ __forceinline__ Total total_of(const Row& row, const T* in, const S* seconds, C* values,
                                          Loss& loss, C* shared) {
  read(in + row.begin, row.group.row, row.group.depth, row.end, row.inner, values);
  C largest = values[0];
#pragma unroll
  for (int k = 1; k < EACH; ++k) largest = Larger::of(largest, values[k]);
  Total total;
  total.max = of_group<Larger>(row.group, largest, shared);
  C sum = (C)0;
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const i64 i = row.group.row + (i64)k * row.group.depth;
    const C shifted = values[k] - total.max;
    const C power = exponential(shifted);
    if (i < row.end) {
      sum += power;
      loss.add(seconds, row.begin + i * row.inner, i, shifted);
    }
    values[k] = KIND == LOG_SOFTMAX ? shifted : power;
  }
  total.sum = of_group<Sum>(row.group, sum, shared);
  return total;
}

__device__ __forceinline__ void write(const Row& row, C log_of_sum, C factor, const C* values,
                                      T* out) {
#pragma unroll
  for (int k = 0; k < EACH; ++k) {
    const i64 i = row.group.row + (i64)k * row.group.depth;
    const C result = KIND == LOG_SOFTMAX ? values[k] - log_of_sum : values[k] * factor;
    if (i < row.end) out[row.begin + i * row.inner] = narrow<T>(result);
  }
}

#else

// Each thread starts with the sum of exponentials relative to the maximum of what it has read.
__device__ __forceinline__ Total total_of(const Row& row, const T* in, C* shared) {
  C values[EACH];
  C largest = (C)(-CORNU_INFINITY);
  C sum = (C)0;
  const i64 step = (i64)EACH * row.group.depth;
  for (i64 i = row.group.row; i < row.end; i += step) {
    read(in + row.begin, i, row.group.depth, row.end, row.inner, values);
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
  Total total;
  total.max = of_group<Larger>(row.group, largest, shared);
  if (largest != (C)(-CORNU_INFINITY)) sum *= exponential(largest - total.max);
  total.sum = of_group<Sum>(row.group, sum, shared);
  return total;
}

// Each position is read before it is written, as `out` may alias an input.
__device__ __forceinline__ void write(const Row& row, C max, C log_of_sum, C factor, const T* in,
                                      const S* seconds, T* out, Loss& loss) {
  C values[EACH];
  const i64 step = (i64)EACH * row.group.depth;
  for (i64 first = row.group.row; first < row.end; first += step) {
    read(in + row.begin, first, row.group.depth, row.end, row.inner, values);
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
      const i64 i = first + (i64)k * row.group.depth;
      const C shifted = values[k] - max;
      if (i < row.end) loss.add(seconds, row.begin + i * row.inner, i, shifted);
      values[k] = KIND == LOG_SOFTMAX ? shifted - log_of_sum : exponential(shifted) * factor;
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
      const i64 i = first + (i64)k * row.group.depth;
      if (i < row.end) out[row.begin + i * row.inner] = narrow<T>(values[k]);
    }
  }
}

#endif

// `seconds`: targets or labels; `losses`: one number per row. Both unused for softmax itself.
// Nothing is __restrict__: results may alias logits or targets.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* in, T* out, i64 outer, i64 count, i64 inner, i64 width, i64 depth,
           const S* seconds, T* losses, i64 ignored, i64* status, i64 check) {
  __shared__ C shared[256];
  const Row row(outer, count, inner, width, depth);
  Loss loss = {-1, (C)0, (C)0};
#if KIND == SPARSE_CROSS_ENTROPY
  if (row.exists) {
    loss.label = checked_label((i64)seconds[row.number], count, ignored, row.number,
                               row.group.row == 0, status, check);
  }
#endif
#if SHORT
  C values[EACH];
  const Total total = total_of(row, in, seconds, values, loss, shared);
  const C log_of_sum = logarithm(total.sum);
  write(row, log_of_sum, (C)1 / total.sum, values, out);
#else
  const Total total = total_of(row, in, shared);
  const C log_of_sum = logarithm(total.sum);
  write(row, total.max, log_of_sum, (C)1 / total.sum, in, seconds, out, loss);
#endif
#if KIND == CROSS_ENTROPY
  const C weights = of_group<Sum>(row.group, loss.weights, shared);
  const C weighted = of_group<Sum>(row.group, loss.weighted, shared);
  if (row.exists && row.group.row == 0) {
    losses[row.number] = narrow<T>(count > 0 ? log_of_sum * weights - weighted : (C)0);
  }
#elif KIND == SPARSE_CROSS_ENTROPY
  // Written by the thread that has the label's logit.
  const i64 writer = loss.label < 0 ? 0 : loss.label % row.group.depth;
  if (row.exists && row.group.row == writer) {
    losses[row.number] = narrow<T>(loss.label < 0 ? (C)0 : log_of_sum - loss.weighted);
  }
#endif
}
