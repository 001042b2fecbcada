// SPDX-License-Identifier: Apache-2.0
// The cell of a GRU, after cell.cu: gates z, r and the candidate; the last state is h.
// The candidate's product with its bias is kept for the gradient.

// The part of gate number `gate` that doesn't need other gates, given its input and product.
__device__ __forceinline__ f32 part_of_gate(int gate, f32 input, f32 product) {
  return gate == 2 ? product : 1.0f / (1.0f + expf(-(input + product)));
}

// The rest, from these parts and the input of the last gate.
__device__ __forceinline__ Stepped step_of(const f32 (&part)[GATES], f32 input, f32 before) {
  Stepped result;
  result.gate[0] = part[0];
  result.gate[1] = part[1];
  result.gate[2] = tanhf(input + part[1] * part[2]);
  result.kept = part[2];
  result.h = part[0] * before + (1.0f - part[0]) * result.gate[2];
  result.last = result.h;
  return result;
}

__device__ __forceinline__ Slopes slopes_of(const Taken& x, f32 of_h, f32) {
  const f32 z = x.gate[0];
  const f32 r = x.gate[1];
  const f32 n = x.gate[2];
  const f32 of_candidate = of_h * (1.0f - z) * (1.0f - n * n);
  Slopes result;
  result.input[0] = of_h * (x.before - n) * (z * (1.0f - z));
  result.input[1] = of_candidate * x.kept * (r * (1.0f - r));
  result.input[2] = of_candidate;
  result.last_product = of_candidate * r;
  result.h = of_h * z;
  result.last = 0.0f;
  return result;
}
