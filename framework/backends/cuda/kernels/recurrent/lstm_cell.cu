// SPDX-License-Identifier: Apache-2.0
// The cell of an LSTM, after cell.cu: gates i, f, g, o; the last state is c.

// The part of gate number `gate` that doesn't need other gates, given its input and product.
__device__ __forceinline__ f32 part_of_gate(int gate, f32 input, f32 product) {
  const f32 sum = input + product;
  return gate == 2 ? tanhf(sum) : 1.0f / (1.0f + expf(-sum));
}

// The rest, from these parts and the input of the last gate.
__device__ __forceinline__ Stepped step_of(const f32 (&part)[GATES], f32, f32 before) {
  Stepped result;
#pragma unroll
  for (int i = 0; i < GATES; ++i) result.gate[i] = part[i];
  result.kept = 0.0f;
  result.last = part[1] * before + part[0] * part[2];
  result.h = part[3] * tanhf(result.last);
  return result;
}

__device__ __forceinline__ Slopes slopes_of(const Taken& x, f32 of_h, f32 of_last) {
  const f32 i = x.gate[0];
  const f32 f = x.gate[1];
  const f32 g = x.gate[2];
  const f32 o = x.gate[3];
  const f32 tanh_c = tanhf(x.after);
  of_last += of_h * o * (1.0f - tanh_c * tanh_c);
  Slopes result;
  result.input[0] = of_last * g * (i * (1.0f - i));
  result.input[1] = of_last * x.before * (f * (1.0f - f));
  result.input[2] = of_last * i * (1.0f - g * g);
  result.input[3] = of_h * tanh_c * (o * (1.0f - o));
  result.last_product = result.input[3];
  result.h = 0.0f;
  result.last = of_last * f;
  return result;
}
