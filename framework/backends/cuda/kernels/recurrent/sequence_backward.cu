// SPDX-License-Identifier: Apache-2.0
// The gradient of a recurrence of at most UNITS units over all its steps, after the cell: each
// block has ROWS rows of the batch. In the product for the previous step, four threads share a
// unit: each keeps its row of the recurrent kernel, for one gate, in registers.
//
// What a step's gradient reads for a unit in one row; read while the following step is computed.
struct Given {
  Taken step;
  boolean taken;
  f32 dh;
  f32 dlast;
};
struct Arrays {
  const f32* gates;
  const f32* last;
  const f32* last_first;
  const f32* dh;
  const f32* dlast;
  const f32* kept;
  const boolean* mask;
  i64 steps, batch, units, reverse;
};
__device__ __forceinline__ i64 row_of(const Arrays& a, i64 turn, i64 row) {
  return (a.reverse ? a.steps - 1 - turn : turn) * a.batch + row;
}
__device__ __forceinline__ void read(Given& to, const Arrays& a, i64 turn, i64 row, int unit) {
  if (turn < 0) return;
  const i64 at = row_of(a, turn, row);
#pragma unroll
  for (int i = 0; i < GATES; ++i) to.step.gate[i] = a.gates[(at * GATES + i) * a.units + unit];
  if (KEEPS) to.step.kept = a.kept[at * a.units + unit];
  to.step.before = turn > 0 ? a.last[row_of(a, turn - 1, row) * a.units + unit]
                            : a.last_first[row * a.units + unit];
  to.taken = takes(a.mask, at);
  to.dh = a.dh[at * a.units + unit];
  if (STATES > 1) to.dlast = a.dlast[at * a.units + unit];
}

extern "C" __global__ void __launch_bounds__(4 * UNITS)
    KERNEL(const f32* __restrict__ gates, const f32* __restrict__ last,
           const f32* __restrict__ last_first, const f32* __restrict__ kernel,
           const f32* __restrict__ dh_outside, const f32* __restrict__ dlast_outside,
           const f32* __restrict__ kept, const boolean* __restrict__ mask,
           f32* __restrict__ of_inputs, f32* __restrict__ dh, f32* __restrict__ dlast,
           f32* __restrict__ of_products, i64 steps, i64 batch, i64 units, i64 reverse) {
  enum { STEP = UNITS + 4 };  // the four threads use different banks
  __shared__ f32 of_state[ROWS][UNITS];
  alignas(16) __shared__ f32 slopes[ROWS][GATES * STEP];
  const int t = threadIdx.x;
  const i64 first = (i64)blockIdx.x * ROWS;
  const int gate = t % 4;
  f32 weights[UNITS];
#pragma unroll
  for (int k = 0; k < UNITS; ++k) {
    weights[k] = gate < GATES && k < units && t / 4 < units
                     ? kernel[(t / 4 * GATES + gate) * units + k]
                     : 0.0f;
  }
  const int unit = t % UNITS;
  const int row = t / UNITS;
  const boolean has_state = row < ROWS && first + row < batch && unit < units;
  const Arrays arrays = {gates, last,  last_first, dh_outside, dlast_outside, kept,
                         mask,  steps, batch,      units,      reverse};
  Given next = {};
  f32 after = 0.0f;    // the last state
  f32 of_last = 0.0f;  // the gradients of the states, of h without the product's
  f32 of_h = 0.0f;
  if (row < ROWS) of_state[row][unit] = 0.0f;
  if (has_state) {
    read(next, arrays, steps - 1, first + row, unit);
    after = last[row_of(arrays, steps - 1, first + row) * units + unit];
  }
  __syncthreads();
  for (i64 turn = steps - 1; turn >= 0; --turn) {
    Slopes found = {};
    if (has_state) {
      Given own = next;
      read(next, arrays, turn - 1, first + row, unit);
      own.step.after = after;
      after = own.step.before;
      of_h += own.dh + of_state[row][unit];
      of_last += own.dlast;
      found = own.taken ? slopes_of(own.step, of_h, of_last) : skipped_slopes(of_h, of_last);
      of_h = found.h;
      of_last = found.last;
      const i64 at = row_of(arrays, turn, first + row);
#pragma unroll
      for (int i = 0; i < GATES; ++i) {
        of_inputs[(at * GATES + i) * units + unit] = found.input[i];
        if (KEEPS) of_products[(at * GATES + i) * units + unit] = slope_of_product(found, i);
      }
    }
    if (row < ROWS) {
#pragma unroll
      for (int i = 0; i < GATES; ++i) slopes[row][i * STEP + unit] = slope_of_product(found, i);
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      f32 sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};  // four chains, to hide latency
      if (gate < GATES) {
#pragma unroll
        for (int k = 0; k < UNITS; ++k) sums[k % 4] += slopes[r][gate * STEP + k] * weights[k];
      }
      f32 sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      if (gate == r) of_state[r][t / 4] = sum;
    }
    __syncthreads();
  }
  if (has_state) {
    dh[(first + row) * units + unit] = of_state[row][unit] + of_h;
    if (STATES > 1) dlast[(first + row) * units + unit] = of_last;
  }
}
