// SPDX-License-Identifier: Apache-2.0
// Shared by the factorizations: a block processes one matrix after another, in float64 regardless
// of T. It works in shared memory or, if that is too small, in its own global memory: see
// `in_shared`, and `work_items` numbers of `scratch` per block.

#define WORK_PARAMETERS f64 *__restrict__ scratch, i64 work_items, i64 in_shared
#define DECLARE_WORK(NAME)       \
  DYNAMIC_SHARED(shared_memory); \
  f64* const NAME = in_shared ? (f64*)shared_memory : scratch + blockIdx.x * work_items;

enum { MOST_WARPS = 16 };
__device__ __forceinline__ int lane() { return threadIdx.x % 32; }
__device__ __forceinline__ int warp() { return threadIdx.x / 32; }
__device__ __forceinline__ int warps() { return blockDim.x / 32; }

__device__ __forceinline__ f64 number(T x) { return (f64)widen(x); }
__device__ __forceinline__ T stored(f64 x) { return narrow<T>((typename Computed<T>::type)x); }

// A loop over COUNT elements, divided among the block's threads.
#define FOR_EACH(I, COUNT) for (i64 I = threadIdx.x; I < (COUNT); I += blockDim.x)

__device__ __forceinline__ f64 warp_sum(f64 x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// The sum over the block, returned to every thread.
__device__ __forceinline__ f64 block_sum(f64 x) {
  __shared__ f64 parts[MOST_WARPS];
  x = warp_sum(x);
  if (lane() == 0) parts[warp()] = x;
  __syncthreads();
  f64 sum = parts[0];
  for (int i = 1; i < warps(); ++i) sum += parts[i];
  __syncthreads();
  return sum;
}

struct Largest {
  f64 value;
  i64 index;
};
// The larger value; of equal ones, that with the lower index.
__device__ __forceinline__ Largest larger(const Largest& a, const Largest& b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

// Over the block, returned to every thread. Threads without a value pass one below all others.
__device__ __forceinline__ Largest block_largest(Largest x) {
  __shared__ Largest parts[MOST_WARPS];
  for (int step = 16; step > 0; step /= 2) {
    Largest other;
    other.value = __shfl_xor_sync(0xffffffffu, x.value, step);
    other.index = __shfl_xor_sync(0xffffffffu, x.index, step);
    x = larger(x, other);
  }
  if (lane() == 0) parts[warp()] = x;
  __syncthreads();
  Largest result = parts[0];
  for (int i = 1; i < warps(); ++i) result = larger(result, parts[i]);
  __syncthreads();
  return result;
}

// Pairs in one round of a tournament among `players` (an even number, at least 2): over `players -
// 1` rounds, every pair meets once.
struct Pair {
  i64 low;
  i64 high;
};
__device__ __forceinline__ Pair pair_of(i64 round, i64 number, i64 players) {
  const i64 others = players - 1;
  const i64 a = number == 0 ? others : (round + number) % others;
  const i64 b = (round + others - number) % others;
  Pair pair;
  pair.low = a < b ? a : b;
  pair.high = a < b ? b : a;
  return pair;
}

// The rotation (x, y) -> (c x - s y, s x + c y) that diagonalizes a symmetric 2 x 2 matrix, given
// the difference of its diagonal (second minus first) and its off-diagonal element.
struct Rotation {
  f64 c;
  f64 s;
};
__device__ __forceinline__ Rotation rotation_of(f64 difference, f64 off) {
  const f64 theta = difference / (2.0 * off);
  const f64 size = 1.0 / (fabs(theta) + sqrt(theta * theta + 1.0));
  const f64 t = theta < 0.0 ? -size : size;
  Rotation rotation;
  rotation.c = 1.0 / sqrt(t * t + 1.0);
  rotation.s = t * rotation.c;
  return rotation;
}
