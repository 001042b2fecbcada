// SPDX-License-Identifier: Apache-2.0
// y = x with two axes swapped, in tiles of at most 1024 elements: `across` is contiguous in x, and
// `inner` in y. For the other axes, LOCATE adds the offset for the index `rest` to `from` and `to`.
// The sides of a tile are powers of two, so that short axes get long tiles.
extern "C" __global__ void __launch_bounds__(256)
    KERNEL(const Vector* __restrict__ x, Vector* __restrict__ y SIZES) {
  __shared__ Vector
      tile[3 * 512];  // rows are padded by one element, to avoid bank conflicts: 2 + 1, 512 times
  const u32 wide = 1u << (u32)across_bits, high = 1u << (u32)inner_bits;
  for (I t = blockIdx.x; t < (I)tiles; t += gridDim.x) {
    I rest = t, from = (I)offset, to = 0;
    const I first_across = (rest % (I)across_tiles) << (u32)across_bits;
    rest /= (I)across_tiles;
    const I first_inner = (rest % (I)inner_tiles) << (u32)inner_bits;
    rest /= (I)inner_tiles;
    LOCATE
    from += first_across + first_inner * (I)inner_from;
    to += first_across * (I)across_to + first_inner;
    const I columns = (I)across - first_across, rows = (I)inner - first_inner;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const u32 e = threadIdx.x + k * 256;
      const u32 column = e & (wide - 1), row = e >> (u32)across_bits;
      if (row < high && row < rows && column < columns) {
        tile[row * (wide + 1) + column] = x[from + row * (I)inner_from + column];
      }
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const u32 e = threadIdx.x + k * 256;
      const u32 row = e & (high - 1), column = e >> (u32)inner_bits;
      if (column < wide && row < rows && column < columns) {
        y[to + column * (I)across_to + row] = tile[row * (wide + 1) + column];
      }
    }
    __syncthreads();
  }
}
