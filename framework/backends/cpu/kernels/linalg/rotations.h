// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace cornu::cpu {

// Columns k and k + 1 of a matrix, p and q, become c p - s q and s p + c q.
struct Rotation {
  int64_t k;
  double c, s;
};

// Rows of a matrix are padded to a multiple of this number.
constexpr int64_t kRotatedRows = 32;

// Applies rotations, one after another, to columns of `rows` elements (a multiple of kRotatedRows),
// `step` elements apart. Rows are divided among threads.
void rotate(std::span<const Rotation> rotations, double* columns, int64_t rows, int64_t step);

}  // namespace cornu::cpu
