// SPDX-License-Identifier: Apache-2.0
// Reductions of an array [outer, count, inner] along `count`, with one thread group per part: T is
// read, R written, C used for computing. Threads read MANY adjacent elements at once if the
// addresses allow it; which thread joins what doesn't depend on that.
struct alignas(sizeof(T) * MANY) Pack {
  T value[MANY];
};

#if KIND == FILL

extern "C" __global__ void __launch_bounds__(256) KERNEL(R* __restrict__ out, i64 count) {
  const i64 i = thread_number();
  if (i < count) out[i] = narrow<R>(IDENTITY);
}

#elif KIND == ROWS

// For inner == 1.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, R* __restrict__ out, i64 rows, i64 count, i64 parts, i64 each,
           i64 width, i64 depth) {
  __shared__ C shared[256];
  const Group group(width, depth);
  const bool exists = group.number < rows * parts;
  C result = IDENTITY;
  if (exists) {
    const T* row = in + group.number / parts * count;
    const i64 first = group.number % parts * each;
    const i64 last = first + each < count ? first + each : count;
    const i64 step = (i64)group.depth * MANY;
    i64 i = first + group.row * MANY;
    if ((u64)row % sizeof(Pack) == 0) {
#pragma unroll 4
      for (; i + MANY <= last; i += step) {
        const Pack pack = *(const Pack*)(row + i);
#pragma unroll
        for (int k = 0; k < MANY; ++k) result = Join::of(result, widen(pack.value[k]));
      }
    }
    for (; i < last; i += step) {
#pragma unroll
      for (int k = 0; k < MANY; ++k) {
        if (i + k < last) result = Join::of(result, widen(row[i + k]));
      }
    }
  }
  result = of_group<Join>(group, result, shared);
  if (exists && group.row == 0) out[group.number] = narrow<R>(result);
}

#else

// Each thread has MANY columns.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, R* __restrict__ out, i64 outer, i64 count, i64 inner,
           i64 parts, i64 each, i64 width, i64 depth) {
  __shared__ C shared[256];
  const Group group(width, depth);
  const i64 tiles = (inner + group.width * MANY - 1) / (group.width * MANY);
  const i64 item = group.number / tiles;
  const i64 column = (group.number % tiles * group.width + group.column) * MANY;
  const i64 columns = item < outer * parts ? inner - column : 0;
  C results[MANY];
#pragma unroll
  for (int k = 0; k < MANY; ++k) results[k] = IDENTITY;
  if (columns > 0) {
    const T* from = in + item / parts * count * inner + column;
    const i64 first = item % parts * each;
    const i64 last = first + each < count ? first + each : count;
    if (inner % MANY == 0 && (u64)in % sizeof(Pack) == 0) {
#pragma unroll 4
      for (i64 r = first + group.row; r < last; r += group.depth) {
        const Pack pack = *(const Pack*)(from + r * inner);
#pragma unroll
        for (int k = 0; k < MANY; ++k) results[k] = Join::of(results[k], widen(pack.value[k]));
      }
    } else {
#pragma unroll 2
      for (i64 r = first + group.row; r < last; r += group.depth) {
#pragma unroll
        for (int k = 0; k < MANY; ++k) {
          if (k < columns) results[k] = Join::of(results[k], widen(from[r * inner + k]));
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < MANY; ++k) {
    const C result = of_group<Join>(group, results[k], shared);
    if (group.row == 0 && k < columns) out[item * inner + column + k] = narrow<R>(result);
  }
}

#endif
