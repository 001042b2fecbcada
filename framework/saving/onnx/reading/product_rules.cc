// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "framework/core/checked.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

// keras.layers.Dense. `bias` may be undefined.
Tensor dense(NodeReader& n, const Tensor& x, const Tensor& kernel, const Tensor& bias) {
  NamedWeights weights = {{"kernel", kernel}};
  if (bias.defined()) weights.emplace_back("bias", bias);
  const Json config = Json::object({{"units", kernel.dim(1)}, {"use_bias", bias.defined()}});
  const Tensor before = n.model().before_rows(x);
  if (!before.defined()) return n.layer("Dense", config, x, weights).single();
  // Uses the tensor with separate axes; they are joined only for readers that need that.
  const Tensor y = n.layer("Dense", config, before, weights).single();
  const Tensor rows = ops::reshape(y, {kUnknown, kernel.dim(1)});
  n.model().set_before_rows(rows, y);
  return rows;
}

bool can_be_dense(NodeReader& n, const Tensor& x, const Tensor& kernel) {
  return is_placeholder(x) && n.is_constant(1) && kernel.rank() == 2 && kernel.dim(1) > 0 &&
         x.rank() >= 2 && is_floating(x.dtype()) && kernel.dtype() == x.dtype();
}

void read_matmul(NodeReader& n) {
  const Tensor x = n.in(0), y = n.in(1);
  if (!can_be_dense(n, x, y)) return n.give(multiplied(n, x, y));
  const Tensor bias = n.take_bias(y.dim(1));
  n.give(dense(n, x, y, bias));
}

Tensor scaled(const Tensor& x, double factor) { return factor == 1 ? x : ops::multiply(x, factor); }

void read_gemm(NodeReader& n) {
  const double alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  const Tensor a = n.integer("transA", 0) != 0 ? ops::transpose(n.in(0)) : n.in(0);
  const Tensor b = n.integer("transB", 0) != 0 ? ops::transpose(n.in(1)) : n.in(1);
  check<InvalidArgument>(a.rank() == 2 && b.rank() == 2, "expected matrices, got {} and {}.",
                         a.shape(), b.shape());
  const Tensor c = n.optional(2);
  if (can_be_dense(n, a, b)) {
    const int64_t units = b.dim(1);
    const bool vector = c.defined() && n.is_constant(2) && c.shape().rank() > 0 &&
                        c.shape().back() == units && c.num_elements() == units;
    if (vector || !c.defined()) {
      const Tensor bias = vector ? scaled(ops::reshape(c, {units}), beta) : n.take_bias(units);
      return n.give(dense(n, a, scaled(b, alpha), bias));
    }
  }
  const Tensor product = scaled(multiplied(n, a, b), alpha);
  n.give(c.defined() ? ops::add(product, scaled(c, beta)) : product);
}

void read_einsum(NodeReader& n) {
  n.refuse_constants();
  const std::string equation = n.text("equation", "");
  std::string subscripts;
  for (const char c : equation) {
    if (c != ' ') subscripts += c;
  }
  n.give(ops::einsum(subscripts, n.all_in()));
}

const Rule kRulesOfProducts[] = {
    {"Einsum", read_einsum},
    {"Gemm", read_gemm},
    {"MatMul", read_matmul},
};

}  // namespace

Tensor multiplied(NodeReader& n, const Tensor& x, const Tensor& y) {
  if (n.folds() && x.rank() > 0 && y.rank() > 0) {
    const int64_t depth = std::max<int64_t>(x.shape().back(), 1);
    n.charge((Checked(x.num_elements(), "a product") * y.num_elements()).value() / depth);
  }
  return ops::matmul(x, y);
}

std::span<const Rule> product_rules() { return kRulesOfProducts; }

}  // namespace cornu::onnx::reading
