// SPDX-License-Identifier: Apache-2.0
// An LSTM of UNITS units at most over all its steps, after gates.cu: a block has ROWS rows of the
// batch and a thread for each gate of each unit, which keeps its column of the recurrent kernel in
// registers.
extern "C" __global__ void __launch_bounds__(4 * UNITS)
    KERNEL(const f32* __restrict__ inputs, const f32* __restrict__ h_before,
           const f32* __restrict__ c_before, const f32* __restrict__ kernel, f32* __restrict__ h,
           f32* __restrict__ c, f32* __restrict__ gates, i64 steps, i64 batch, i64 units,
           i64 reverse) {
  alignas(16) __shared__ f32 state[ROWS][UNITS];
  __shared__ f32 activated[ROWS][4 * UNITS];
  const int t = threadIdx.x;
  const int unit = t % UNITS;
  const int part = t / UNITS;  // the gate, in the product; the row, where states are made
  const i64 first = (i64)blockIdx.x * ROWS;
  f32 weights[UNITS];
#pragma unroll
  for (int k = 0; k < UNITS; ++k) {
    weights[k] = k < units && unit < units ? kernel[(k * 4 + part) * units + unit] : 0.0f;
  }
  const boolean has_state = part < ROWS && first + part < batch && unit < units;
  f32 cell = has_state ? c_before[(first + part) * units + unit] : 0.0f;
  if (part < ROWS) state[part][unit] = has_state ? h_before[(first + part) * units + unit] : 0.0f;
  __syncthreads();
  for (i64 turn = 0; turn < steps; ++turn) {
    const i64 begin = (reverse ? steps - 1 - turn : turn) * batch + first;
    f32 sums[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      sums[r] = first + r < batch && unit < units ? inputs[((begin + r) * 4 + part) * units + unit]
                                                  : 0.0f;
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      f32 sum = 0.0f;
#pragma unroll
      for (int k = 0; k < UNITS; ++k) sum += state[r][k] * weights[k];
      const f32 value = activate(part, sums[r] + sum);
      activated[r][t] = value;
      if (first + r < batch && unit < units) gates[((begin + r) * 4 + part) * units + unit] = value;
    }
    __syncthreads();
    if (has_state) {
      const f32* const own = activated[part] + unit;
      cell = own[UNITS] * cell + own[0] * own[2 * UNITS];
      const f32 output = own[3 * UNITS] * tanhf(cell);
      c[(begin + part) * units + unit] = cell;
      h[(begin + part) * units + unit] = output;
      state[part][unit] = output;
    }
    __syncthreads();
  }
}
