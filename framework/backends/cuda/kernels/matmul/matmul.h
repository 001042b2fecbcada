// SPDX-License-Identifier: Apache-2.0
// Products of matrices, for matmul and for what else is one.
#pragma once

#include <optional>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// What becomes of a result y, rows of as many elements as `bias` has: act(y + bias + residual).
struct Epilogue {
  std::optional<Slot> bias;
  std::optional<Slot> residual;  // as y
  bool relu = false;

  bool empty() const { return !bias && !residual && !relu; }
  // What kernels that call finished() begin with: epilogue.cu.
  std::string text() const;
  // The places of bias and residual; of `unread` where there is none.
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

// `product` says nothing of an epilogue; without terms (k = 0) the product is zeros.
void add_product(const MatmulSpec& product, const ProductOperands& operands,
                 const Epilogue& epilogue, Lowering& lowering);

}  // namespace cornu::cuda
