// SPDX-License-Identifier: Apache-2.0
// An LSTM of at most UNITS units over all its steps, after gates.cu: each block has ROWS rows of
// the batch and one thread per gate of each unit, which keeps its column of the recurrent kernel in
// registers.
//
// The location of a block's rows in the steps' arrays.
struct Place {
  i64 steps, batch, units, reverse, first;
  __device__ __forceinline__ i64 row(i64 turn, int row) const {
    return (reverse ? steps - 1 - turn : turn) * batch + first + row;
  }
};

// The inputs of a unit's gate in one step, which are read while the previous step is computed.
__device__ __forceinline__ void read_inputs(f32 (&to)[ROWS], const f32* __restrict__ inputs,
                                            const Place& place, i64 turn, int gate, int unit) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const boolean exists =
        turn < place.steps && place.first + r < place.batch && unit < place.units;
    to[r] = exists ? inputs[(place.row(turn, r) * 4 + gate) * place.units + unit] : 0.0f;
  }
}

extern "C" __global__ void __launch_bounds__(4 * UNITS)
    KERNEL(const f32* __restrict__ inputs, const f32* __restrict__ h_before,
           const f32* __restrict__ c_before, const f32* __restrict__ kernel, f32* __restrict__ h,
           f32* __restrict__ c, f32* __restrict__ gates, i64 steps, i64 batch, i64 units,
           i64 reverse) {
  alignas(16) __shared__ f32 state[ROWS][UNITS];
  __shared__ f32 activated[ROWS][4 * UNITS];
  const int t = threadIdx.x;
  const int unit = t % UNITS;
  const int part = t / UNITS;  // the gate, in the product; the row, when states are computed
  const i64 first = (i64)blockIdx.x * ROWS;
  f32 weights[UNITS];
#pragma unroll
  for (int k = 0; k < UNITS; ++k) {
    weights[k] = k < units && unit < units ? kernel[(k * 4 + part) * units + unit] : 0.0f;
  }
  const boolean has_state = part < ROWS && first + part < batch && unit < units;
  f32 cell = has_state ? c_before[(first + part) * units + unit] : 0.0f;
  if (part < ROWS) state[part][unit] = has_state ? h_before[(first + part) * units + unit] : 0.0f;
  const Place place = {steps, batch, units, reverse, first};
  f32 next[ROWS];
  read_inputs(next, inputs, place, 0, part, unit);
  __syncthreads();
  for (i64 turn = 0; turn < steps; ++turn) {
    f32 own[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) own[r] = next[r];
    read_inputs(next, inputs, place, turn + 1, part, unit);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      f32 sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};  // four chains, to hide latency
#pragma unroll
      for (int k = 0; k < UNITS; ++k) sums[k % 4] += state[r][k] * weights[k];
      const f32 value = activate(part, own[r] + ((sums[0] + sums[1]) + (sums[2] + sums[3])));
      activated[r][t] = value;
      if (first + r < batch && unit < units) {
        gates[(place.row(turn, r) * 4 + part) * units + unit] = value;
      }
    }
    __syncthreads();
    if (has_state) {
      const f32* const gate = activated[part] + unit;
      cell = gate[UNITS] * cell + gate[0] * gate[2 * UNITS];
      const f32 output = gate[3 * UNITS] * tanhf(cell);
      c[place.row(turn, part) * units + unit] = cell;
      h[place.row(turn, part) * units + unit] = output;
      state[part][unit] = output;
    }
    __syncthreads();
  }
}
