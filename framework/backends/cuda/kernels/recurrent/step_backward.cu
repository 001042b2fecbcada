// SPDX-License-Identifier: Apache-2.0
// The gradient of one step of a recurrence, after the cell and product.cu. The gradient of h from
// the following step is a product with that of its gates; the pass over this step's gates follows
// in the same launch.

enum { PASSES = MASKED || KEEPS };  // whether h's gradient also goes past the product

// The recurrent kernel's transpose.
struct Kernels {
  const f32* values;
  i64 units;
  i64 first;  // unit of the tile
  __device__ __forceinline__ f32 operator()(i64 k, int column) const {
    const i64 unit = first + column;
    return unit < units ? values[unit * GATES * units + k] : 0.0f;
  }
};

// `of_products_behind` is used if has_behind; without has_step, its product completes the result
// `dh` and nothing else is computed. dh, dlast: on entry from the following step, on exit for the
// previous one, dh without what comes by the product.
extern "C" __global__ void __launch_bounds__(BLOCK)
    KERNEL(const f32* __restrict__ gates, const f32* __restrict__ last_before,
           const f32* __restrict__ last, const f32* __restrict__ dh_outside,
           const f32* __restrict__ dlast_outside, const f32* __restrict__ kernel,
           const f32* __restrict__ kept, const boolean* __restrict__ mask,
           const f32* __restrict__ of_products_behind, f32* __restrict__ dh,
           f32* __restrict__ dlast, f32* __restrict__ of_inputs, f32* __restrict__ of_products,
           i64 rows, i64 units, i64 has_behind, i64 has_step) {
  alignas(16) __shared__ f32 memory[MEMORY];
  const i64 tiles = (units + COLUMNS - 1) / COLUMNS;
  const i64 first_unit = blockIdx.x % tiles * COLUMNS;
  const i64 first_row = blockIdx.x / tiles * ROWS;
  const Kernels factors = {kernel, units, first_unit};
  if (has_behind) {
    multiply<true>(memory, of_products_behind, rows, GATES * units, first_row, factors);
  }
  for (int e = threadIdx.x; e < ROWS * COLUMNS; e += BLOCK) {
    const i64 row = first_row + e / COLUMNS;
    const i64 unit = first_unit + e % COLUMNS;
    if (row >= rows || unit >= units) continue;
    const i64 at = row * units + unit;
    f32 behind = has_behind ? sum_of(memory, e / COLUMNS, e % COLUMNS) : 0.0f;
    if (PASSES && has_behind) behind += dh[at];
    if (!has_step) {
      dh[at] = behind;
      continue;
    }
    const f32 of_h = dh_outside[at] + behind;
    f32 of_last = 0.0f;
    if (STATES > 1) of_last = dlast_outside[at] + (has_behind ? dlast[at] : 0.0f);
    Slopes found = skipped_slopes(of_h, of_last);
    if (takes(mask, row)) {
      Taken step = {};
#pragma unroll
      for (int i = 0; i < GATES; ++i) step.gate[i] = gates[(row * GATES + i) * units + unit];
      step.before = last_before[at];
      step.after = last[at];
      if (KEEPS) step.kept = kept[at];
      found = slopes_of(step, of_h, of_last);
    }
#pragma unroll
    for (int i = 0; i < GATES; ++i) {
      of_inputs[(row * GATES + i) * units + unit] = found.input[i];
      if (KEEPS) of_products[(row * GATES + i) * units + unit] = slope_of_product(found, i);
    }
    if (PASSES) dh[at] = found.h;
    if (STATES > 1) dlast[at] = found.last;
  }
}
