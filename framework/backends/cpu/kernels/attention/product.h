// SPDX-License-Identifier: Apache-2.0
// Products of small blocks of matrices, each run by one thread, several concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "framework/core/dtype.h"

namespace cornu::cpu {

// The strides of a matrix: the distances between its rows and between its columns, one of which is
// 1.
struct Layout {
  int64_t row = 1;
  int64_t column = 1;

  Layout transposed() const { return {column, row}; }
};

// out (m x n) = a (m x k) * b (k x n) * scale, or out += a * b; all sizes > 0.
struct BlockShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Layout a, b, out;
  bool add = false;
  double scale = 1;
};

// A prepared product. Sums over k have a fixed order, whatever thread runs it.
class BlockProduct {
 public:
  virtual ~BlockProduct() = default;
  // Runs on the calling thread alone. `part` < parts: no two calls with the same part may run
  // concurrently. Returns false on failure. `scratch`: scratch_bytes() bytes, aligned to 64.
  virtual bool run(int part, const void* a, const void* b, void* out, void* scratch) = 0;
  virtual size_t scratch_bytes() const { return 0; }
};

// For float32, float64 and bfloat16, whose products are summed and returned in float32. Uses
// oneDNN, or Eigen for float64 and where oneDNN has no fast implementation.
std::unique_ptr<BlockProduct> make_block_product(DType dtype, const BlockShape& shape, int parts);

}  // namespace cornu::cpu
