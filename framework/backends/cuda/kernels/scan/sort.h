// SPDX-License-Identifier: Apache-2.0
// Stable sorts of rows on GPUs.
#pragma once

#include <string>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// key.cu after the definitions that it needs: the unsigned sort keys (K) of elements.
std::string sort_key_text(DType dtype);
// Size of K in bytes.
int64_t sort_key_bytes(DType dtype);

// Rows of an array [outer, count, inner] along `count`; rows = outer * inner.
struct RowSort {
  DType dtype;
  int64_t rows;
  int64_t count;
  int64_t inner;
  int64_t first;  // number of places of each row's order that are needed
  bool descending = false;
  bool keeps_keys = false;
};

// Writes the order of each row, as int32 indices, to `order`, an array like `from` except for size
// `first` along `count`. With keeps_keys, returns the location of the sorted keys, as [rows,
// count].
Slot sort_rows(const std::string& name, const RowSort& sort, const Slot& from, const Slot& order,
               Lowering& lowering);

}  // namespace cornu::cuda
