// SPDX-License-Identifier: Apache-2.0
// out[s, j] = the maximum, minimum or product of data[i, j] over the slices i whose id is s, in
// their order: a thread for each element of the result, which goes through all ids, 256 of them at
// a time.
__device__ __forceinline__ C join(C a, C b) {
#if OP == 0
  return a < b || b != b ? b : a;
#elif OP == 1
  return b < a || b != b ? b : a;
#else
  return (C)(a * b);
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const I* __restrict__ ids, const T* __restrict__ data, T* __restrict__ out, i64 segments,
           i64 slices, i64 inner, i64* status, i64 check) {
  __shared__ i64 shared[256];
  const i64 number = thread_number();
  const bool exists = number < segments * inner;
  const i64 segment = exists ? number / inner : -1;
  const i64 column = exists ? number % inner : 0;
  C result = (C)START;
  for (i64 first = 0; first < slices; first += 256) {
    __syncthreads();
    const i64 slice = first + threadIdx.x;
    if (slice < slices) {
      const i64 id = (i64)ids[slice];
      if (blockIdx.x == 0 && (id < 0 || id >= segments)) report(status, check, id);
      shared[threadIdx.x] = id;
    }
    __syncthreads();
    const i64 many = slices - first < 256 ? slices - first : 256;
    for (int k = 0; exists && k < many; ++k) {
      if (shared[k] == segment) result = join(result, widen(data[(first + k) * inner + column]));
    }
  }
  if (exists) out[number] = narrow<T>(result);
}
