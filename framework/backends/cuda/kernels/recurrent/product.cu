// SPDX-License-Identifier: Apache-2.0
// The matrix product within a step: each block of BLOCK threads has a tile of ROWS x COLUMNS
// results, and each thread MICRO x MICRO of them. If there are more threads, groups of them sum up
// parts of each chunk of DEPTH factors.

enum {
  DEPTH = 32,
  GROUP = ROWS / MICRO * (COLUMNS / MICRO),  // threads
  GROUPS = BLOCK / GROUP,
  ROW_STEP = ROWS + 4,
  COLUMN_STEP = COLUMNS + 4,
  STAGED = DEPTH * (ROW_STEP + COLUMN_STEP),
  SUMS = GROUPS * ROWS * COLUMNS,
  MEMORY = STAGED > SUMS ? STAGED : SUMS
};

struct alignas(4 * MICRO) Micro {
  f32 v[MICRO];
};

// The index of the number in row `row` and column `column` of the result, in part `group`.
__device__ __forceinline__ int sum_at(int group, int row, int column) {
  return (group * ROWS + row) * COLUMNS + column;
}
__device__ __forceinline__ f32 sum_of(const f32* memory, int row, int column) {
  f32 sum = memory[sum_at(0, row, column)];
  for (int group = 1; group < GROUPS; ++group) sum += memory[sum_at(group, row, column)];
  return sum;
}

// Products of rows of a, starting at row `first`, with the result of `factor(k, column)`, in
// `memory` as above. ALONG_K: neighbors in k are adjacent in memory.
template <bool ALONG_K, class Factor>
__device__ __forceinline__ void multiply(f32* memory, const f32* __restrict__ a, i64 rows,
                                         i64 depth, i64 first, Factor factor) {
  f32* const of_rows = memory;
  f32* const of_columns = memory + DEPTH * ROW_STEP;
  const int group = threadIdx.x / GROUP;
  const int row = threadIdx.x % GROUP / (COLUMNS / MICRO) * MICRO;
  const int column = threadIdx.x % (COLUMNS / MICRO) * MICRO;
  f32 sums[MICRO][MICRO];
#pragma unroll
  for (int i = 0; i < MICRO; ++i) {
#pragma unroll
    for (int j = 0; j < MICRO; ++j) sums[i][j] = 0.0f;
  }
  for (i64 begin = 0; begin < depth; begin += DEPTH) {
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * DEPTH; i += BLOCK) {
      const i64 r = first + i / DEPTH;
      const i64 k = begin + i % DEPTH;
      of_rows[i % DEPTH * ROW_STEP + i / DEPTH] = r < rows && k < depth ? a[r * depth + k] : 0.0f;
    }
    for (int i = threadIdx.x; i < COLUMNS * DEPTH; i += BLOCK) {
      const int k = ALONG_K ? i % DEPTH : i / COLUMNS;
      const int c = ALONG_K ? i / DEPTH : i % COLUMNS;
      of_columns[k * COLUMN_STEP + c] = begin + k < depth ? factor(begin + k, c) : 0.0f;
    }
    __syncthreads();
#pragma unroll 8
    for (int k = group * (DEPTH / GROUPS); k < (group + 1) * (DEPTH / GROUPS); ++k) {
      const Micro x = *(const Micro*)(of_rows + k * ROW_STEP + row);
      const Micro y = *(const Micro*)(of_columns + k * COLUMN_STEP + column);
#pragma unroll
      for (int i = 0; i < MICRO; ++i) {
#pragma unroll
        for (int j = 0; j < MICRO; ++j) sums[i][j] += x.v[i] * y.v[j];
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < MICRO; ++i) {
#pragma unroll
    for (int j = 0; j < MICRO; ++j) memory[sum_at(group, row + i, column + j)] = sums[i][j];
  }
  __syncthreads();
}
