// SPDX-License-Identifier: Apache-2.0
// Products of large matrices of float64 and integers, which oneDNN lacks.
#pragma once

#include <cstdint>

namespace cornu::cpu {

// A matrix whose element (i, j) is data[i * row + j * column].
template <class T>
struct StridedMatrix {
  const T* data;
  int64_t row, column;
};

// Rows [begin, end) of a product of a (m x k) and b (k x n).
template <class T>
struct PackedRows {
  StridedMatrix<T> a;
  const T* panels;  // of b
  int64_t begin, end, n, k;
  T* memory;  // kPackedDepth (or k, if it is less) times the rows, in whole strips
  T* out;
  int64_t step;       // from a row of `out` to the next
  bool adds = false;  // to what is in `out`
};

// The loops of a product. Operands are packed so that the innermost loop reads them sequentially: b
// into panels of `columns` columns, a's blocks into strips of `rows` rows.
template <class T>
struct PackedProduct {
  int64_t rows, columns;  // of the innermost loop's results
  // Packs panel number `panel` of b.
  void (*pack_panel)(const StridedMatrix<T>& b, int64_t k, int64_t n, int64_t panel, T* to);
  void (*multiply)(const PackedRows<T>& rows);
};

constexpr int64_t kPackedDepth = 192;  // so that a panel's part stays in a first-level cache

template <class T>
const PackedProduct<T>& packed_product();

}  // namespace cornu::cpu
