// SPDX-License-Identifier: Apache-2.0
// Reductions of an array [outer, count, inner] along `count`, a part of it for each block (or row
// of threads): T is read, R written, C computed with; OP is SUM, PRODUCT, MAXIMUM or MINIMUM. TX:
// threads beside each other, a power of two.
#define SUM 0
#define PRODUCT 1
#define MAXIMUM 2
#define MINIMUM 3

__device__ __forceinline__ C join(C a, C b) {
#if OP == SUM
  return (C)(a + b);
#elif OP == PRODUCT
  return (C)(a * b);
#elif OP == MAXIMUM
  return a != a ? a : (b != b ? b : (a > b ? a : b));
#else
  return a != a ? a : (b != b ? b : (a < b ? a : b));
#endif
}

#if KIND == FILL

extern "C" __global__ void __launch_bounds__(256) KERNEL(R* __restrict__ out, i64 count) {
  const i64 i = thread_number();
  if (i < count) out[i] = narrow<R>((C)IDENTITY);
}

#elif KIND == ROWS

// inner is 1: TX threads for each part of a row.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, R* __restrict__ out, i64 rows, i64 count, i64 parts,
           i64 each) {
  __shared__ C shared[256];
  const int tx = threadIdx.x % TX;
  const i64 item = (i64)blockIdx.x * (256 / TX) + threadIdx.x / TX;
  C result = (C)IDENTITY;
  if (item < rows * parts) {
    const T* row = in + item / parts * count;
    const i64 first = item % parts * each;
    const i64 last = first + each < count ? first + each : count;
#pragma unroll 4
    for (i64 i = first + tx; i < last; i += TX) result = join(result, widen(row[i]));
  }
  shared[threadIdx.x] = result;
  __syncthreads();
  for (int half = TX / 2; half > 0; half /= 2) {
    if (tx < half) shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  if (tx == 0 && item < rows * parts) out[item] = narrow<R>(shared[threadIdx.x]);
}

#else

// TX columns of a part for each block.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const T* __restrict__ in, R* __restrict__ out, i64 count, i64 inner, i64 parts,
           i64 each) {
  __shared__ C shared[256];
  const int tx = threadIdx.x % TX;
  const int ty = threadIdx.x / TX;
  const i64 tiles = (inner + TX - 1) / TX;
  const i64 item = blockIdx.x / tiles;
  const i64 column = blockIdx.x % tiles * TX + tx;
  const i64 first = item % parts * each;
  const i64 last = first + each < count ? first + each : count;
  const T* from = in + item / parts * count * inner + column;
  C result = (C)IDENTITY;
  if (column < inner) {
#pragma unroll 4
    for (i64 r = first + ty; r < last; r += 256 / TX) result = join(result, widen(from[r * inner]));
  }
  shared[threadIdx.x] = result;
  __syncthreads();
  for (int half = 256 / TX / 2; half > 0; half /= 2) {
    if (ty < half) shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half * TX]);
    __syncthreads();
  }
  if (ty == 0 && column < inner) out[item * inner + column] = narrow<R>(shared[tx]);
}

#endif
