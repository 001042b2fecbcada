// SPDX-License-Identifier: Apache-2.0
// One step of a recurrence, after the cell and product.cu: a tile of rows and units, with all gates
// of each unit.

// Elements of the recurrent kernel (units, GATES units): columns of a tile iterate over its units,
// gate by gate.
struct Kernels {
  const f32* values;
  i64 units;
  i64 first;  // unit of the tile
  __device__ __forceinline__ f32 operator()(i64 k, int column) const {
    const i64 unit = first + column % (COLUMNS / GATES);
    const i64 gate = column / (COLUMNS / GATES);
    return unit < units ? values[(k * GATES + gate) * units + unit] : 0.0f;
  }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    KERNEL(const f32* __restrict__ inputs, const f32* __restrict__ h_before,
           const f32* __restrict__ last_before, const f32* __restrict__ kernel,
           const f32* __restrict__ bias, const boolean* __restrict__ mask, f32* __restrict__ h,
           f32* __restrict__ last, f32* __restrict__ gates, f32* __restrict__ kept, i64 rows,
           i64 units) {
  enum { UNITS = COLUMNS / GATES };
  alignas(16) __shared__ f32 memory[MEMORY];
  const i64 tiles = (units + UNITS - 1) / UNITS;
  const i64 first_unit = blockIdx.x % tiles * UNITS;
  const i64 first_row = blockIdx.x / tiles * ROWS;
  const Kernels factors = {kernel, units, first_unit};
  multiply<false>(memory, h_before, rows, units, first_row, factors);
  for (int e = threadIdx.x; e < ROWS * UNITS; e += BLOCK) {
    const i64 row = first_row + e / UNITS;
    const i64 unit = first_unit + e % UNITS;
    if (row >= rows || unit >= units) continue;
    const i64 at = row * units + unit;
    Stepped now = skipped(h_before[at], last_before[at]);
    if (takes(mask, row)) {
      f32 part[GATES];
      f32 input = 0.0f;
#pragma unroll
      for (int gate = 0; gate < GATES; ++gate) {
        input = inputs[(row * GATES + gate) * units + unit];
        const f32 sum = sum_of(memory, e / UNITS, gate * UNITS + e % UNITS);
        part[gate] = part_of_gate(gate, input, KEEPS ? sum + bias[gate * units + unit] : sum);
      }
      now = step_of(part, input, last_before[at]);
    }
#pragma unroll
    for (int gate = 0; gate < GATES; ++gate) {
      gates[(row * GATES + gate) * units + unit] = now.gate[gate];
    }
    h[at] = now.h;
    if (STATES > 1) last[at] = now.last;
    if (KEEPS) kept[at] = now.kept;
  }
}
