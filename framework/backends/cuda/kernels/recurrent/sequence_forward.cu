// SPDX-License-Identifier: Apache-2.0
// A recurrence of at most UNITS units over all its steps, after the cell: each block has ROWS rows
// of the batch and one thread per gate of each unit, which keeps its column of the recurrent kernel
// in registers.
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
    to[r] = exists ? inputs[(place.row(turn, r) * GATES + gate) * place.units + unit] : 0.0f;
  }
}

extern "C" __global__ void __launch_bounds__(GATES* UNITS)
    KERNEL(const f32* __restrict__ inputs, const f32* __restrict__ h_before,
           const f32* __restrict__ last_before, const f32* __restrict__ kernel,
           const f32* __restrict__ bias, const boolean* __restrict__ mask, f32* __restrict__ h,
           f32* __restrict__ last, f32* __restrict__ gates, f32* __restrict__ kept, i64 steps,
           i64 batch, i64 units, i64 reverse) {
  alignas(16) __shared__ f32 state[ROWS][UNITS];
  __shared__ f32 parts[ROWS][(GATES + KEEPS) * UNITS];  // then the last gate's input
  const int t = threadIdx.x;
  const int unit = t % UNITS;
  const int part = t / UNITS;  // the gate, in the product; the row, when states are computed
  const i64 first = (i64)blockIdx.x * ROWS;
  f32 weights[UNITS];
#pragma unroll
  for (int k = 0; k < UNITS; ++k) {
    weights[k] = k < units && unit < units ? kernel[(k * GATES + part) * units + unit] : 0.0f;
  }
  const f32 added = KEEPS && unit < units ? bias[part * units + unit] : 0.0f;
  const boolean has_state = part < ROWS && first + part < batch && unit < units;
  f32 own_last = has_state ? last_before[(first + part) * units + unit] : 0.0f;
  if (part < ROWS) state[part][unit] = has_state ? h_before[(first + part) * units + unit] : 0.0f;
  const Place place = {steps, batch, units, reverse, first};
  f32 next[ROWS];
  read_inputs(next, inputs, place, 0, part, unit);
  boolean next_taken = has_state && takes(mask, place.row(0, part));
  __syncthreads();
  for (i64 turn = 0; turn < steps; ++turn) {
    f32 own[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) own[r] = next[r];
    read_inputs(next, inputs, place, turn + 1, part, unit);
    const boolean taken = next_taken;
    if (has_state && turn + 1 < steps) next_taken = takes(mask, place.row(turn + 1, part));
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      f32 sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};  // four chains, to hide latency
#pragma unroll
      for (int k = 0; k < UNITS; ++k) sums[k % 4] += state[r][k] * weights[k];
      const f32 sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
      parts[r][t] = part_of_gate(part, own[r], KEEPS ? sum + added : sum);
      if (KEEPS && part == GATES - 1) parts[r][t + UNITS] = own[r];
    }
    __syncthreads();
    if (has_state) {
      Stepped now = skipped(state[part][unit], own_last);
      if (taken) {
        f32 found[GATES];
#pragma unroll
        for (int i = 0; i < GATES; ++i) found[i] = parts[part][i * UNITS + unit];
        now = step_of(found, parts[part][(GATES - 1 + KEEPS) * UNITS + unit], own_last);
      }
      const i64 at = place.row(turn, part);
#pragma unroll
      for (int i = 0; i < GATES; ++i) gates[(at * GATES + i) * units + unit] = now.gate[i];
      h[at * units + unit] = now.h;
      if (STATES > 1) last[at * units + unit] = now.last;
      if (KEEPS) kept[at * units + unit] = now.kept;
      own_last = now.last;
      state[part][unit] = now.h;
    }
    __syncthreads();
  }
}
