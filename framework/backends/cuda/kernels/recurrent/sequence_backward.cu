// SPDX-License-Identifier: Apache-2.0
// The gradient of an LSTM of UNITS units at most over all its steps, after gates.cu: a block has
// ROWS rows of the batch. In the product that leads to the step before, four threads share a unit:
// each keeps its row of the recurrent kernel, of one gate, in registers.
extern "C" __global__ void __launch_bounds__(4 * UNITS)
    KERNEL(const f32* __restrict__ gates, const f32* __restrict__ c,
           const f32* __restrict__ c_first, const f32* __restrict__ kernel,
           const f32* __restrict__ dh_outside, const f32* __restrict__ dc_outside,
           f32* __restrict__ of_gates, f32* __restrict__ dh, f32* __restrict__ dc, i64 steps,
           i64 batch, i64 units, i64 reverse) {
  enum { STEP = UNITS + 4 };  // the four threads read other banks
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
  if (row < ROWS) of_state[row][unit] = 0.0f;
  f32 of_cell = 0.0f;
  __syncthreads();
  for (i64 turn = steps - 1; turn >= 0; --turn) {
    const i64 at = ((reverse ? steps - 1 - turn : turn) * batch + first + row) * units + unit;
    const i64 before = at + (reverse ? batch * units : -batch * units);
    GateGradients found = {};
    if (has_state) {
      f32 values[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) values[i] = gates[4 * (at - unit) + i * units + unit];
      const f32 c_before = turn > 0 ? c[before] : c_first[(first + row) * units + unit];
      found = gradients_of(values, c_before, c[at], dh_outside[at] + of_state[row][unit],
                           dc_outside[at] + of_cell);
#pragma unroll
      for (int i = 0; i < 4; ++i) of_gates[4 * (at - unit) + i * units + unit] = found.gate[i];
      of_cell = found.c_before;
    }
    if (row < ROWS) {
#pragma unroll
      for (int i = 0; i < 4; ++i) slopes[row][i * STEP + unit] = found.gate[i];
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      f32 sum = 0.0f;
#pragma unroll
      for (int k = 0; k < UNITS; ++k) sum += slopes[r][gate * STEP + k] * weights[k];
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
