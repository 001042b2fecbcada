// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/matmul.h"

#include <algorithm>

#include "framework/core/checked.h"
#include "framework/core/error_place.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

// The product in the operands' own dtype, as Keras returns for all products but matmul and einsum.
Tensor narrow_product(const Tensor& a, const Tensor& b) {
  return cast(matmul(a, b), promote(a.dtype(), b.dtype()));
}

Types infer_matmul(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "matmul");
  const Shape& a = inputs[0].shape;
  const Shape& b = inputs[1].shape;
  check<InvalidArgument>(a.rank() >= 2 && b.rank() >= 2 && inputs[0].dtype == inputs[1].dtype,
                         "matmul: expected two matrices of one dtype, got {} {} and {} {}.",
                         inputs[0].dtype, a, inputs[1].dtype, b);
  const bool ta = attributes.get_bool("transpose_a");
  const bool tb = attributes.get_bool("transpose_b");
  const int64_t m = a[a.rank() - (ta ? 1 : 2)];
  const int64_t k = a[a.rank() - (ta ? 2 : 1)];
  const int64_t k2 = b[b.rank() - (tb ? 1 : 2)];
  const int64_t n = b[b.rank() - (tb ? 2 : 1)];
  check<InvalidArgument>(k == k2,
                         "matmul: expected inner axes of equal size, got {}{} and {}{}: {} != {}. "
                         "Should one of them be transposed?",
                         a, ta ? " (transposed)" : "", b, tb ? " (transposed)" : "", k, k2);
  const Shape batch =
      broadcast_shapes(a.slice(0, a.rank() - 2), b.slice(0, b.rank() - 2), "matmul");
  const DType dtype = inputs[0].dtype == DType::Int8 ? DType::Int32 : inputs[0].dtype;
  return {{dtype, batch.concat({m, n})}};
}

// The gradient of a matrix by which every batch entry of `a` is multiplied, as a single product.
Tensor shared_matrix_gradient(const Tensor& a, const Tensor& dy, bool transposed) {
  const int64_t count = a.shape().slice(0, a.rank() - 1).num_elements();
  const Tensor rows = reshape(a, {count, a.shape().back()});
  const Tensor of_rows = reshape(dy, {count, dy.shape().back()});
  return transposed ? matmul(of_rows, rows, {.transpose_x1 = true})
                    : matmul(rows, of_rows, {.transpose_x1 = true});
}

Gradients matmul_vjp(const VjpContext& c) {
  const bool ta = c.attributes.get_bool("transpose_a");
  const bool tb = c.attributes.get_bool("transpose_b");
  const Tensor& a = c.in(0);
  const Tensor& b = c.in(1);
  const Tensor& dy = c.gradient();
  Gradients result(2);
  if (c.needed[0]) {
    const Tensor da = ta ? matmul(b, dy, {.transpose_x1 = tb, .transpose_x2 = true})
                         : matmul(dy, b, {.transpose_x2 = !tb});
    result[0] = sum_to_shape(da, a.shape());
  }
  if (c.needed[1]) {
    const bool shared = b.rank() == 2 && a.rank() > 2 && !ta;
    const Tensor db = shared ? shared_matrix_gradient(a, dy, tb)
                      : tb   ? matmul(dy, a, {.transpose_x1 = true, .transpose_x2 = ta})
                             : matmul(a, dy, {.transpose_x1 = !ta});
    result[1] = sum_to_shape(db, b.shape());
  }
  return result;
}

}  // namespace

void register_matmul(OpRegistry& registry) {
  registry.add({.name = "matmul", .infer = infer_matmul, .vjp = matmul_vjp, .traits = {}});
}

Tensor matmul(const Tensor& left, const Tensor& right, const MatmulOptions& options) {
  const ErrorPlace scope("matmul");
  const DType dtype = promote(left.dtype(), right.dtype());
  if (dtype == DType::Bool) {  // whether there is a pair of trues
    return cast(matmul(cast(left, DType::Int32), right, options), DType::Bool);
  }
  Tensor a = cast(left, dtype);
  Tensor b = cast(right, dtype);
  check<InvalidArgument>(a.rank() >= 1 && b.rank() >= 1,
                         "matmul: expected tensors of at least 1 axis, got {} and {}.", a.shape(),
                         b.shape());
  const bool row = a.rank() == 1;
  const bool column = b.rank() == 1;
  if (row) a = expand_dims(a, 0);
  if (column) b = expand_dims(b, 1);
  Tensor product = call<"matmul">({a, b}, {{"transpose_a", options.transpose_x1 && !row},
                                           {"transpose_b", options.transpose_x2 && !column}});
  if (row) product = squeeze(product, product.rank() - 2);
  if (column) product = squeeze(product, product.rank() - 1);
  // For two int8 operands it is int32; for an int8 and a bool it stays int8, as in Keras.
  return left.dtype() == right.dtype() ? product : cast(product, dtype);
}

Tensor dot(const Tensor& a, const Tensor& b) {
  const ErrorPlace scope("dot");
  if (a.rank() == 0 || b.rank() == 0) return multiply(a, b);
  if (b.rank() <= 2) return narrow_product(a, b);
  if (is_open(a) || is_open(b)) {
    return whole_of("dot", std::vector<Tensor>{a, b}, {"numpy", "Dot"},
                    [](const std::vector<Tensor>& in) { return dot(in[0], in[1]); });
  }
  std::vector<int64_t> order = {b.rank() - 2};
  for (int64_t axis = 0; axis < b.rank(); ++axis) {
    if (axis != b.rank() - 2) order.push_back(axis);
  }
  const Tensor moved = transpose(b, order);
  const Shape rest = moved.shape().slice(1);
  const Tensor product = narrow_product(a, reshape(moved, {moved.shape()[0], rest.num_elements()}));
  return reshape(product, a.shape().slice(0, a.rank() - 1).concat(rest));
}

Tensor tensordot(const Tensor& a, const Tensor& b, int64_t axes) {
  const ErrorPlace scope("tensordot");
  check<InvalidArgument>(
      axes <= std::min(a.rank(), b.rank()),
      "tensordot: expected at most as many axes as both tensors have, got {} for "
      "shapes {} and {}.",
      axes, a.shape(), b.shape());
  std::vector<int64_t> last;
  std::vector<int64_t> first;
  for (int64_t i = 0; i < axes; ++i) {
    last.push_back(a.rank() - axes + i);
    first.push_back(i);
  }
  return tensordot(a, b, last, first);
}

Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int64_t>& axes1,
                 const std::vector<int64_t>& axes2) {
  const ErrorPlace scope("tensordot");
  if (is_open(a) || is_open(b)) {
    const Json config = Json::object({{"axes", Json::array({axes1, axes2})}});
    return whole_of(
        "tensordot", std::vector<Tensor>{a, b}, {"numpy", "Tensordot", config},
        [=](const std::vector<Tensor>& in) { return tensordot(in[0], in[1], axes1, axes2); });
  }
  bool agree = axes1.size() == axes2.size();
  for (size_t i = 0; agree && i < axes1.size(); ++i) {
    agree = a.dim(a.shape().normalize_axis(axes1[i], "tensordot")) ==
            b.dim(b.shape().normalize_axis(axes2[i], "tensordot"));
  }
  check<InvalidArgument>(agree,
                         "tensordot: expected pairs of axes of the same size, got axes ({}) of "
                         "shape {} and ({}) of shape {}.",
                         fmt::join(axes1, ", "), a.shape(), fmt::join(axes2, ", "), b.shape());
  // The free axes, then the summed ones in the given order.
  auto arrange = [](const Tensor& x, const std::vector<int64_t>& summed, bool summed_first) {
    std::vector<int64_t> pairs;
    for (int64_t axis : summed) pairs.push_back(x.shape().normalize_axis(axis, "tensordot"));
    std::vector<int64_t> order;
    Shape free;
    int64_t inner = 1;
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      if (std::find(pairs.begin(), pairs.end(), axis) != pairs.end()) {
        inner = Checked(inner, "tensordot") * x.shape()[axis];
        continue;
      }
      order.push_back(axis);
      free.push_back(x.shape()[axis]);
    }
    order.insert(summed_first ? order.begin() : order.end(), pairs.begin(), pairs.end());
    const int64_t rows = free.num_elements();
    const Tensor moved = transpose(x, order);
    return std::pair(reshape(moved, summed_first ? Shape{inner, rows} : Shape{rows, inner}), free);
  };
  const auto [left, rows] = arrange(a, axes1, false);
  const auto [right, columns] = arrange(b, axes2, true);
  return reshape(narrow_product(left, right), rows.concat(columns));
}

Tensor outer(const Tensor& a, const Tensor& b) {
  const ErrorPlace scope("outer");
  return multiply(expand_dims(ravel(a), 1), expand_dims(ravel(b), 0));
}

}  // namespace cornu::ops
