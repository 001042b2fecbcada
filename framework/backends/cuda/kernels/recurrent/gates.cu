// SPDX-License-Identifier: Apache-2.0
// The gates of one unit of an LSTM in one step, in the order i, f, g, o, and their gradients.

// Activates gate number `gate`.
__device__ __forceinline__ f32 activate(int gate, f32 x) {
  return gate == 2 ? tanhf(x) : 1.0f / (1.0f + expf(-x));
}

struct GateGradients {
  f32 gate[4];   // before activation
  f32 c_before;  // of the previous step
};
// Computed from activated gates, c and h, and the gradients that reach them from outside of this
// step.
__device__ __forceinline__ GateGradients gradients_of(const f32 (&gate)[4], f32 c_before, f32 c,
                                                      f32 of_h, f32 of_c) {
  const f32 i = gate[0];
  const f32 f = gate[1];
  const f32 g = gate[2];
  const f32 o = gate[3];
  const f32 tanh_c = tanhf(c);
  of_c += of_h * o * (1.0f - tanh_c * tanh_c);
  GateGradients result;
  result.gate[0] = of_c * g * (i * (1.0f - i));
  result.gate[1] = of_c * c_before * (f * (1.0f - f));
  result.gate[2] = of_c * i * (1.0f - g * g);
  result.gate[3] = of_h * tanh_c * (o * (1.0f - o));
  result.c_before = of_c * f;
  return result;
}
