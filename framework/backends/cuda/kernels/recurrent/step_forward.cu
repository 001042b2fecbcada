// SPDX-License-Identifier: Apache-2.0
// One step of an LSTM, after gates.cu and product.cu: a tile of rows and units, with all four gates
// of each unit.

// Elements of the recurrent kernel (units, 4 units): columns of a tile iterate over its units, gate
// by gate.
struct Kernels {
  const f32* values;
  i64 units;
  i64 first;  // unit of the tile
  __device__ __forceinline__ f32 operator()(i64 k, int column) const {
    const i64 unit = first + column % (COLUMNS / 4);
    const i64 gate = column / (COLUMNS / 4);
    return unit < units ? values[(k * 4 + gate) * units + unit] : 0.0f;
  }
};

extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const f32* __restrict__ inputs, const f32* __restrict__ h_before,
           const f32* __restrict__ c_before, const f32* __restrict__ kernel, f32* __restrict__ h,
           f32* __restrict__ c, f32* __restrict__ gates, i64 rows, i64 units) {
  enum { UNITS = COLUMNS / 4 };
  alignas(16) __shared__ f32 memory[MEMORY];
  const i64 tiles = (units + UNITS - 1) / UNITS;
  const i64 first_unit = blockIdx.x % tiles * UNITS;
  const i64 first_row = blockIdx.x / tiles * ROWS;
  const Kernels factors = {kernel, units, first_unit};
  multiply<false>(memory, h_before, rows, units, first_row, factors);
  for (int e = threadIdx.x; e < ROWS * UNITS; e += 256) {
    const i64 row = first_row + e / UNITS;
    const i64 unit = first_unit + e % UNITS;
    if (row >= rows || unit >= units) continue;
    f32 z[4];
#pragma unroll
    for (int gate = 0; gate < 4; ++gate) {
      z[gate] = activate(gate, inputs[(row * 4 + gate) * units + unit] +
                                   sum_of(memory, e / UNITS, gate * UNITS + e % UNITS));
      gates[(row * 4 + gate) * units + unit] = z[gate];
    }
    const i64 at = row * units + unit;
    const f32 now = z[1] * c_before[at] + z[0] * z[2];
    c[at] = now;
    h[at] = z[3] * tanhf(now);
  }
}
