// SPDX-License-Identifier: Apache-2.0
// Reduces (adds or compares) arrays of several ranks, in the order of ranks. Each set of arrays has
// a number of elements, one array from each of INS ranks, and OUTS destinations, which may be among
// the former. Each row of the grid processes one set.
struct Words {
  u64 word[SETS * (1 + INS + OUTS)];
};

template <class E, int N>
struct alignas(sizeof(E) * N) Elements {
  E of[N];
};

typedef Computed<T>::type Total;

// NaN from any rank is preserved.
__device__ __forceinline__ Total combine(Total total, Total other) {
#if OP == 0
  return (Total)(total + other);
#elif OP == 1
  return other != other || other < total ? other : total;
#else
  return other != other || total < other ? other : total;
#endif
}

template <int N>
__device__ __forceinline__ void reduce(const u64* arrays, i64 at) {
  Total total[N];
#pragma unroll
  for (int rank = 0; rank < INS; ++rank) {
    const Elements<T, N> in = *(const Elements<T, N>*)((const T*)arrays[rank] + at);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      total[i] = rank == 0 ? widen(in.of[i]) : combine(total[i], widen(in.of[i]));
    }
  }
  Elements<T, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result.of[i] = narrow<T>((Total)(total[i] / (Total)DIVISOR));
#pragma unroll
  for (int rank = 0; rank < OUTS; ++rank) {
    *(Elements<T, N>*)((T*)arrays[INS + rank] + at) = result;
  }
}

extern "C" __global__ void __launch_bounds__(256) KERNEL(const __grid_constant__ Words all) {
  const u64* set = all.word + blockIdx.y * (1 + INS + OUTS);
  const i64 count = (i64)set[0];
  for (i64 at = thread_number() * WIDTH; at < count; at += thread_count() * WIDTH) {
    if (at + WIDTH <= count) {
      reduce<WIDTH>(set + 1, at);
    } else {
      for (i64 i = at; i < count; ++i) reduce<1>(set + 1, i);
    }
  }
}
