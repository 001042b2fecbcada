// SPDX-License-Identifier: Apache-2.0
// Moments of a group of numbers, and their combination for two groups.
template <class C>
struct Moments {
  C count;
  C mean;
  C square;  // the sum of squared deviations from the mean
};

template <class N>
__device__ __forceinline__ N min_of(N a, N b) {
  return a < b ? a : b;
}

// What differences are taken from: subtracting infinity from itself would turn a mean into NaN.
template <class C>
__device__ __forceinline__ C pivot_of(C x) {
  return x - x == (C)0 ? x : (C)0;
}

// From sums of differences to a pivot, whose own value is `pivot`.
template <class C>
__device__ __forceinline__ Moments<C> of_sums(C count, C pivot, C sum, C square) {
  if (count == (C)0) return {(C)0, (C)0, (C)0};
  const C mean = sum / count;
  const C rest = square - sum * mean;
  return {count, pivot + mean, rest < (C)0 ? (C)0 : rest};  // NaN is preserved
}

template <class C>
__device__ __forceinline__ Moments<C> joined(const Moments<C>& a, const Moments<C>& b) {
  if (b.count == (C)0) return a;
  if (a.count == (C)0) return b;
  const C count = a.count + b.count;
  if (pivot_of(a.mean) != a.mean || pivot_of(b.mean) != b.mean) {  // infinity or NaN
    return {count, a.mean + b.mean, (C)CORNU_NAN};
  }
  const C distance = b.mean - a.mean;
  const C share = b.count / count;
  return {count, a.mean + distance * share,
          a.square + b.square + distance * distance * a.count * share};
}

// Joins the moments of a column's threads in a block, as a tree: the result is that of the first
// thread.
template <class C, int ACROSS>
__device__ __forceinline__ Moments<C> joined_below(Moments<C>* shared, const Moments<C>& own) {
  const int ty = threadIdx.x / ACROSS;
  shared[threadIdx.x] = own;
  __syncthreads();
  for (int half = 256 / ACROSS / 2; half > 0; half /= 2) {
    if (ty < half) {
      shared[threadIdx.x] = joined(shared[threadIdx.x], shared[threadIdx.x + half * ACROSS]);
    }
    __syncthreads();
  }
  const Moments<C> all = shared[threadIdx.x % ACROSS];
  __syncthreads();
  return all;
}
