// SPDX-License-Identifier: Apache-2.0
#include "framework/losses/operands.h"

#include <algorithm>

#include "framework/ops/ops.h"

namespace cornu {

Tensor with_rank(const Tensor& x, int64_t rank) {
  Shape shape = x.shape();
  if (shape.rank() >= rank) return x;
  while (shape.rank() < rank) shape.push_back(1);
  return ops::reshape(x, shape);
}

Matched squeeze_or_expand_to_same_rank(const Tensor& y_true, const Tensor& y_pred,
                                       bool expand_rank_1) {
  auto matched = [&](const Tensor& larger, const Tensor& smaller) -> Matched {
    if (larger.rank() != smaller.rank() + 1 || larger.shape().back() != 1) {
      return {larger, smaller};
    }
    if (smaller.rank() == 1 && expand_rank_1) return {larger, with_rank(smaller, 2)};
    return {ops::reshape(larger, larger.shape().slice(0, larger.rank() - 1)), smaller};
  };
  if (y_true.rank() >= y_pred.rank()) return matched(y_true, y_pred);
  auto [pred, truth] = matched(y_pred, y_true);
  return {truth, pred};
}

Matched operands(const Tensor& y_true, const Tensor& y_pred, const char* advice) {
  const Tensor pred = is_floating(y_pred.dtype()) ? y_pred : ops::cast(y_pred, DType::Float32);
  Matched matched = squeeze_or_expand_to_same_rank(ops::cast(y_true, pred.dtype()), pred);
  check<InvalidArgument>(matched.y_true.shape() == matched.y_pred.shape(),
                         "expected y_true of y_pred's shape {}, got {}. {}", y_pred.shape(),
                         y_true.shape(), advice);
  return matched;
}

Tensor class_indices(const Tensor& y_true, const Tensor& y_pred) {
  const Shape expected = y_pred.shape().slice(0, std::max<int64_t>(0, y_pred.rank() - 1));
  const bool column = y_true.rank() == y_pred.rank() && y_true.shape().back() == 1;
  const Tensor labels =
      column ? ops::reshape(y_true, y_true.shape().slice(0, y_true.rank() - 1)) : y_true;
  const bool one_hot = y_pred.rank() > 0 && y_true.shape() == y_pred.shape();
  check<InvalidArgument>(
      y_pred.rank() > 0 && labels.shape() == expected,
      "expected y_true of shape {}, the class indices for y_pred of shape {}, got {}. {}", expected,
      y_pred.shape(), y_true.shape(),
      one_hot ? "For one-hot labels use the class without 'Sparse' in its name."
              : "Give one class index for each row of predictions.");
  if (is_integer(labels.dtype()) && is_signed(labels.dtype())) return labels;
  if (!is_floating(labels.dtype())) {
    return ops::cast(labels, size_of(labels.dtype()) == 1 ? DType::Int32 : DType::Int64);
  }
  // Non-finite labels aren't classes: they become -2^31, which is rejected, whereas a plain cast
  // would make them 0.
  const bool is_double = labels.dtype() == DType::Float64;
  const Tensor wide = is_double ? labels : ops::cast(labels, DType::Float32);
  return ops::cast(ops::where(ops::isfinite(wide), wide, -2147483648.0),
                   is_double ? DType::Int64 : DType::Int32);
}

Tensor masked_weights(const Tensor& mask, const Tensor& sample_weight, DType dtype) {
  auto typed = [dtype](const Tensor& x) { return x.defined() ? ops::cast(x, dtype) : Tensor(); };
  const Tensor left = typed(mask);
  const Tensor right = typed(sample_weight);
  if (!left.defined()) return right;
  if (!right.defined()) return left;
  const auto [a, b] = squeeze_or_expand_to_same_rank(left, right);
  const int64_t rank = std::max(a.rank(), b.rank());
  return with_rank(a, rank) * with_rank(b, rank);
}

DType computed_in(DType dtype) {
  return is_floating(dtype) && size_of(dtype) >= 4 ? dtype : DType::Float32;
}

Tensor summable(const Tensor& x, DType dtype) {
  return ops::cast(ops::cast(x, dtype), is_floating(dtype) ? computed_in(dtype) : dtype);
}

}  // namespace cornu
