// SPDX-License-Identifier: Apache-2.0
// The Fisher-Yates shuffle by one block, with the same result as by one thread: for i = count - 1
// down to 1, swap numbers i and below(i + 1). Each thread has one swap; swaps whose two places
// aren't waited for by an earlier swap run concurrently (Shun et al., "Sequential random
// permutation, list contraction and tree contraction are highly parallel", SODA 2015).

// Number `draw` of PhiloxEngine::below(bound) for the key; false if it is rejected.
__device__ __forceinline__ bool draw_below(const u32* key, u64 draw, u64 bound, i64* result) {
  const PhiloxWords words = philox(key[0], key[1], draw / 2, 0);
  const u64 word = draw % 2 == 0 ? (u64)words.word[0] << 32 | words.word[1]
                                 : (u64)words.word[2] << 32 | words.word[3];
  *result = (i64)__umul64hi(word, bound);
  const u64 low = word * bound;
  return low >= bound || low >= (0 - bound) % bound;
}

// Runs the swaps of (place, target) in the order of their places, the highest first. `wanted` holds
// -1 for each place or, during a swap, the first swap that waits for the place.
__device__ void run_swaps(bool open, i32 place, i32 target, i32* out, i32* wanted, i32* waiting) {
  for (;;) {
    if (threadIdx.x == 0) *waiting = 0;
    if (open) {
      atomicMax(wanted + place, place);
      atomicMax(wanted + target, place);
    }
    __syncthreads();
    const bool mine = open && wanted[place] == place && wanted[target] == place;
    if (mine) {
      const i32 value = out[place];
      out[place] = out[target];
      out[target] = value;
    }
    if (open && !mine) *waiting = 1;
    __syncthreads();
    if (open) {
      wanted[place] = -1;
      wanted[target] = -1;
    }
    open = open && !mine;
    const bool done = *waiting == 0;
    __syncthreads();
    if (done) return;
  }
}

extern "C" __global__ void __launch_bounds__(1024)
    KERNEL(const u32* __restrict__ key, i32* out, i32* wanted, i64 count) {
  __shared__ i32 waiting;
  __shared__ i32 rejected;  // the first thread whose draw is rejected, or the number of threads
  const i32 thread = (i32)threadIdx.x;
  const i32 threads = (i32)blockDim.x;
  for (i64 i = thread; i < count; i += threads) {
    out[i] = (i32)i;
    wanted[i] = -1;
  }
  u64 draw = 0;
  for (i64 last = count - 1; last > 0;) {
    if (thread == 0) rejected = threads;
    __syncthreads();
    const i64 place = last - thread;
    i64 target = 0;
    if (place > 0 && !draw_below(key, draw + thread, (u64)place + 1, &target)) {
      atomicMin(&rejected, thread);
    }
    __syncthreads();
    // Threads after a rejected draw have shifted draws: their swaps are repeated with those.
    const i32 taken = rejected;
    run_swaps(place > 0 && thread < taken, (i32)place, (i32)target, out, wanted, &waiting);
    last -= taken;
    draw += (u64)(taken < threads ? taken + 1 : taken);
  }
}
