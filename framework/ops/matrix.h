// SPDX-License-Identifier: Apache-2.0
// Diagonals, triangles and products of vectors and matrices (keras.ops.numpy).
#pragma once

#include <cstdint>
#include <optional>

#include "framework/core/tensor.h"

namespace cornu::ops {

// For a vector, the square matrix with it on diagonal k (above the main one for k > 0); for a
// matrix, its diagonal k.
Tensor diag(const Tensor& x, int64_t k = 0);
// The matrix with the flattened x on diagonal k.
Tensor diagflat(const Tensor& x, int64_t k = 0);

struct DiagonalOptions {
  int64_t offset = 0;  // which diagonal; > 0 is above the main one
  int64_t axis1 = 0;   // rows
  int64_t axis2 = 1;   // columns
};

// The diagonals of matrices, as the last axis of the result.
Tensor diagonal(const Tensor& x, const DiagonalOptions& options = {});
// The sums of the diagonals.
Tensor trace(const Tensor& x, const DiagonalOptions& options = {});

// The last two axes, with zeros above (below) diagonal k.
Tensor tril(const Tensor& x, int64_t k = 0);
Tensor triu(const Tensor& x, int64_t k = 0);

struct CrossOptions {
  int64_t axisa = -1;  // axis of the vectors of x1, of x2, and of the result
  int64_t axisb = -1;
  int64_t axisc = -1;
  std::optional<int64_t> axis = {};  // for all three
};

// Cross products of vectors with 3 elements (or 2, whose third is 0; for two such vectors, only the
// third component is returned).
Tensor cross(const Tensor& x1, const Tensor& x2, const CrossOptions& options = {});

// Sums of products over the last axes; a scalar multiplies.
Tensor inner(const Tensor& x1, const Tensor& x2);
// The sum of the products of all elements.
Tensor vdot(const Tensor& x1, const Tensor& x2);
// The Kronecker product: x2 times each element of x1, side by side.
Tensor kron(const Tensor& x1, const Tensor& x2);

}  // namespace cornu::ops
