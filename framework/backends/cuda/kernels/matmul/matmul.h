// SPDX-License-Identifier: Apache-2.0
// Matrix products, for matmul and other ops that are computed as one.
#pragma once

#include <optional>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// Applied to a result y, with rows of as many elements as `bias` has: act(y + bias + residual).
struct Epilogue {
  std::optional<Slot> bias;
  std::optional<Slot> residual;  // with the shape of y
  bool relu = false;

  bool empty() const { return !bias && !residual && !relu; }
  // The beginning of kernels that call finished(): epilogue.cu.
  std::string text() const;
  // The locations of bias and residual, or `unread` if there is none.
  std::vector<Argument> arguments(Slot unread) const;
};

// y = act(y + bias + residual).
void apply_epilogue(const Epilogue& epilogue, DType dtype, Slot y, int64_t rows, int64_t columns,
                    Lowering& lowering);

struct ProductOperands {
  Slot a;
  Slot b;
  Slot out;
};

// `product` doesn't include the epilogue; without terms (k = 0) the product is zeros.
void add_product(const MatmulSpec& product, const ProductOperands& operands,
                 const Epilogue& epilogue, Lowering& lowering);

// to (columns, rows) = from (rows, columns), transposed. `matrix`: the type of `from`.
void add_transposition(const TensorType& matrix, Slot from, Slot to, Lowering& lowering);

}  // namespace cornu::cuda
