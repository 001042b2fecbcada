// SPDX-License-Identifier: Apache-2.0
// The gradient of an LSTM of at most UNITS units over all its steps, after gates.cu: each block has
// ROWS rows of the batch. In the product for the previous step, four threads share a unit: each
// keeps its row of the recurrent kernel, for one gate, in registers.
//
// What a step's gradient reads for a unit in one row; read while the following step is computed.
struct Given {
  f32 gate[4];
  f32 c_before;
  f32 dh;
  f32 dc;
};
struct Arrays {
  const f32* gates;
  const f32* c;
  const f32* c_first;
  const f32* dh;
  const f32* dc;
  i64 steps, batch, units, reverse;
};
__device__ __forceinline__ i64 row_of(const Arrays& a, i64 turn, i64 row) {
  return (a.reverse ? a.steps - 1 - turn : turn) * a.batch + row;
}
__device__ __forceinline__ void read(Given& to, const Arrays& a, i64 turn, i64 row, int unit) {
  if (turn < 0) return;
  const i64 at = row_of(a, turn, row);
#pragma unroll
  for (int i = 0; i < 4; ++i) to.gate[i] = a.gates[(at * 4 + i) * a.units + unit];
  to.c_before =
      turn > 0 ? a.c[row_of(a, turn - 1, row) * a.units + unit] : a.c_first[row * a.units + unit];
  to.dh = a.dh[at * a.units + unit];
  to.dc = a.dc[at * a.units + unit];
}

extern "C" __global__ void __launch_bounds__(4 * UNITS)
    KERNEL(const f32* __restrict__ gates, const f32* __restrict__ c,
           const f32* __restrict__ c_first, const f32* __restrict__ kernel,
           const f32* __restrict__ dh_outside, const f32* __restrict__ dc_outside,
           f32* __restrict__ of_gates, f32* __restrict__ dh, f32* __restrict__ dc, i64 steps,
           i64 batch, i64 units, i64 reverse) {
  enum { STEP = UNITS + 4 };  // the four threads use different banks
  __shared__ f32 of_state[ROWS][UNITS];
  alignas(16) __shared__ f32 slopes[ROWS][4 * STEP];
  const int t = threadIdx.x;
  const i64 first = (i64)blockIdx.x * ROWS;
  const int gate = t % 4;
  f32 weights[UNITS];
#pragma unroll
  for (int k = 0; k < UNITS; ++k) {
    weights[k] = k < units && t / 4 < units ? kernel[(t / 4 * 4 + gate) * units + k] : 0.0f;
  }
  const int unit = t % UNITS;
  const int row = t / UNITS;
  const boolean has_state = row < ROWS && first + row < batch && unit < units;
  const Arrays arrays = {gates, c, c_first, dh_outside, dc_outside, steps, batch, units, reverse};
  Given next = {};
  f32 of_cell = 0.0f;
  f32 cell = 0.0f;
  if (row < ROWS) of_state[row][unit] = 0.0f;
  if (has_state) {
    read(next, arrays, steps - 1, first + row, unit);
    cell = c[row_of(arrays, steps - 1, first + row) * units + unit];
  }
  __syncthreads();
  for (i64 turn = steps - 1; turn >= 0; --turn) {
    GateGradients found = {};
    if (has_state) {
      const Given own = next;
      read(next, arrays, turn - 1, first + row, unit);
      found = gradients_of(own.gate, own.c_before, cell, own.dh + of_state[row][unit],
                           own.dc + of_cell);
      cell = own.c_before;
      of_cell = found.c_before;
      const i64 at = row_of(arrays, turn, first + row);
#pragma unroll
      for (int i = 0; i < 4; ++i) of_gates[(at * 4 + i) * units + unit] = found.gate[i];
    }
    if (row < ROWS) {
#pragma unroll
      for (int i = 0; i < 4; ++i) slopes[row][i * STEP + unit] = found.gate[i];
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      f32 sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};  // four chains, to hide latency
#pragma unroll
      for (int k = 0; k < UNITS; ++k) sums[k % 4] += slopes[r][gate * STEP + k] * weights[k];
      f32 sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      if (gate == r) of_state[r][t / 4] = sum;
    }
    __syncthreads();
  }
  if (has_state) {
    dh[(first + row) * units + unit] = of_state[row][unit];
    dc[(first + row) * units + unit] = of_cell;
  }
}
