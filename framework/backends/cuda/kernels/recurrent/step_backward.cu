// SPDX-License-Identifier: Apache-2.0
// The gradient of one step of an LSTM, after gates.cu and product.cu. The gradient of h from the
// following step is a product with that of its gates; the pass over this step's gates follows in
// the same launch.

// The recurrent kernel's transpose.
struct Kernels {
  const f32* values;
  i64 units;
  i64 first;  // unit of the tile
  __device__ __forceinline__ f32 operator()(i64 k, int column) const {
    const i64 unit = first + column;
    return unit < units ? values[unit * 4 * units + k] : 0.0f;
  }
};

// `of_gates_behind` is used if has_behind; without has_step, its product is the result `dh` and
// nothing else is computed. dc: on entry from the following step, on exit for the previous one.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const f32* __restrict__ gates, const f32* __restrict__ c_before,
           const f32* __restrict__ c, const f32* __restrict__ dh_outside,
           const f32* __restrict__ dc_outside, const f32* __restrict__ kernel,
           const f32* __restrict__ of_gates_behind, f32* __restrict__ dh, f32* __restrict__ dc,
           f32* __restrict__ of_gates, i64 rows, i64 units, i64 has_behind, i64 has_step) {
  alignas(16) __shared__ f32 memory[MEMORY];
  const i64 tiles = (units + COLUMNS - 1) / COLUMNS;
  const i64 first_unit = blockIdx.x % tiles * COLUMNS;
  const i64 first_row = blockIdx.x / tiles * ROWS;
  const Kernels factors = {kernel, units, first_unit};
  if (has_behind) {
    multiply<true>(memory, of_gates_behind, rows, 4 * units, first_row, factors);
  }
  for (int e = threadIdx.x; e < ROWS * COLUMNS; e += 256) {
    const i64 row = first_row + e / COLUMNS;
    const i64 unit = first_unit + e % COLUMNS;
    if (row >= rows || unit >= units) continue;
    const i64 at = row * units + unit;
    const f32 behind = has_behind ? sum_of(memory, e / COLUMNS, e % COLUMNS) : 0.0f;
    if (!has_step) {
      dh[at] = behind;
      continue;
    }
    f32 gate[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) gate[i] = gates[(row * 4 + i) * units + unit];
    const GateGradients found = gradients_of(gate, c_before[at], c[at], dh_outside[at] + behind,
                                             dc_outside[at] + (has_behind ? dc[at] : 0.0f));
#pragma unroll
    for (int i = 0; i < 4; ++i) of_gates[(row * 4 + i) * units + unit] = found.gate[i];
    dc[at] = found.c_before;
  }
}
