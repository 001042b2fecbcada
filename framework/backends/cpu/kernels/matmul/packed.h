// SPDX-License-Identifier: Apache-2.0
// Products of large matrices of float64 and int32, which oneDNN lacks.
#pragma once

#include <cstdint>

namespace cornu::cpu {

// A matrix whose element (i, j) lies at data[i * row + j * column].
template <class T>
struct StridedMatrix {
  const T* data;
  int64_t row, column;
};

// The loops of a product of a (m x k) and b (k x n). Operands are copied to where the innermost
// loop reads them one after the other: b to panels of `columns` columns, a's blocks to strips of
// `rows`.
template <class T>
struct PackedProduct {
  int64_t rows, columns;  // of what the innermost loop computes
  // Panel number `panel` of b.
  void (*pack_panel)(const StridedMatrix<T>& b, int64_t k, int64_t n, int64_t panel, T* to);
  // Rows [begin, end) of the product; memory: kPackedDepth * the rows, in whole strips.
  void (*multiply)(const StridedMatrix<T>& a, const T* panels, int64_t begin, int64_t end,
                   int64_t n, int64_t k, T* memory, T* out);
};

constexpr int64_t kPackedDepth = 192;  // so that a panel's part stays in a first-level cache

template <class T>
const PackedProduct<T>& packed_product();

}  // namespace cornu::cpu
