// SPDX-License-Identifier: Apache-2.0
// Stable sorts of rows, on GPUs.
#pragma once

#include <string>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// key.cu after the definitions that it needs: the unsigned numbers (K) that elements are sorted by.
std::string sort_key_text(DType dtype);
// Bytes of a K.
int64_t sort_key_bytes(DType dtype);

// Rows of an array [outer, count, inner] along `count`; rows = outer * inner.
struct RowSort {
  DType dtype;
  int64_t rows;
  int64_t count;
  int64_t inner;
  int64_t first;  // how many places of each row's order are wanted
  bool descending = false;
  bool keeps_keys = false;
};

// Writes the order of each row, as indices (int32), to `order`, an array like `from` but for
// `first` along `count`. With keeps_keys, the result is the place of the sorted keys, as [rows,
// count].
Slot sort_rows(const std::string& name, const RowSort& sort, const Slot& from, const Slot& order,
               Lowering& lowering);

}  // namespace cornu::cuda
