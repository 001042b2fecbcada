// SPDX-License-Identifier: Apache-2.0
// What the kernels know of a cell, whose own file follows. GATES: of a unit. STATES: h, and c of an
// LSTM; equations need only the last one. KEEPS: whether the product of h and the recurrent kernel
// has a bias of its own, and that of the last gate isn't simply added to its input (GRU). MASKED:
// whether rows skip steps. All of one unit and row, in one step.

// The results of a step.
struct Stepped {
  f32 gate[GATES];
  f32 kept;
  f32 h;
  f32 last;
};

// What the gradient of a step reads.
struct Taken {
  f32 gate[GATES];
  f32 kept;
  f32 before;  // the last state
  f32 after;
};

// The gradients of a step's inputs, of its last product if that differs from the last input, and of
// the states before it, except what passes through the product.
struct Slopes {
  f32 input[GATES];
  f32 last_product;
  f32 h;
  f32 last;
};

__device__ __forceinline__ f32 slope_of_product(const Slopes& slopes, int gate) {
  return KEEPS && gate == GATES - 1 ? slopes.last_product : slopes.input[gate];
}

// Whether row `at` of all steps' rows takes its step.
__device__ __forceinline__ boolean takes(const boolean* __restrict__ mask, i64 at) {
  return !MASKED || mask[at];
}

// A step that isn't taken.
__device__ __forceinline__ Stepped skipped(f32 h, f32 last) {
  Stepped result = {};
  result.h = h;
  result.last = last;
  return result;
}
__device__ __forceinline__ Slopes skipped_slopes(f32 of_h, f32 of_last) {
  Slopes result = {};
  result.h = of_h;
  result.last = of_last;
  return result;
}
