// SPDX-License-Identifier: Apache-2.0
// How rows and columns are divided among the blocks that sum up columns. Depends only on shapes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "framework/backends/cuda/kernels/reduction/groups.h"

namespace cornu::cuda {

struct ColumnBlocks {
  static constexpr int64_t kThreads = 256;    // per block
  static constexpr int64_t kPartColumns = 8;  // threads along a row, when joining parts
  static constexpr int64_t kMaxBlocks =
      528;  // four for each of an H200's multiprocessors: all run concurrently
  static constexpr int64_t kMinRounds = 4;    // per thread
  static constexpr int64_t kMaxColumns = 32;  // threads of a block along a row

  int64_t rows;
  int64_t columns;
  int64_t across;         // threads along a row, each with `width` columns
  int64_t column_blocks;  // in the grid's x axis
  int64_t row_blocks;     // in its y axis
  int64_t rows_each;      // per row block

  ColumnBlocks(int64_t rows, int64_t columns, int64_t width) : rows(rows), columns(columns) {
    const int64_t packs = quotient_up(columns, width);
    across =
        std::min(kMaxColumns, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(packs))));
    column_blocks = quotient_up(packs, across);
    const int64_t most = std::max<int64_t>(1, kMaxBlocks / column_blocks);
    row_blocks = std::clamp<int64_t>(quotient_up(rows, kThreads / across * kMinRounds), 1, most);
    rows_each = quotient_up(rows, row_blocks);
    row_blocks = quotient_up(rows, rows_each);
  }
};

}  // namespace cornu::cuda
