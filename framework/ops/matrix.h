// SPDX-License-Identifier: Apache-2.0
// Diagonals, triangles and products of vectors and matrices (keras.ops.numpy).
#pragma once

#include <cstdint>
#include <optional>

#include "framework/core/tensor.h"

namespace cornu::ops {

// Of a vector, the square matrix with it on diagonal k (above the main one for k > 0); of a matrix,
// its diagonal k.
Tensor diag(const Tensor& x, int64_t k = 0);
// The same matrix of the flattened x.
Tensor diagflat(const Tensor& x, int64_t k = 0);

struct DiagonalOptions {
  int64_t offset = 0;  // which diagonal: > 0 is above the main one
  int64_t axis1 = 0;   // rows
  int64_t axis2 = 1;   // columns
};

// The diagonals of matrices, as the last axis of the result.
Tensor diagonal(const Tensor& x, const DiagonalOptions& options = {});
// Their sums.
Tensor trace(const Tensor& x, const DiagonalOptions& options = {});

// The last two axes with zeros above (below) diagonal k.
Tensor tril(const Tensor& x, int64_t k = 0);
Tensor triu(const Tensor& x, int64_t k = 0);

struct CrossOptions {
  int64_t axisa = -1;  // of the vectors of x1, of x2, and of the result
  int64_t axisb = -1;
  int64_t axisc = -1;
  std::optional<int64_t> axis = {};  // of all three
};

// Cross products of vectors of 3 (or 2: the third is 0; of two such the third component alone).
Tensor cross(const Tensor& x1, const Tensor& x2, const CrossOptions& options = {});

// Sums of products over the last axes; a scalar multiplies.
Tensor inner(const Tensor& x1, const Tensor& x2);
// The sum of the products of all elements.
Tensor vdot(const Tensor& x1, const Tensor& x2);
// The Kronecker product: x2 times each element of x1, side by side.
Tensor kron(const Tensor& x1, const Tensor& x2);

}  // namespace cornu::ops
