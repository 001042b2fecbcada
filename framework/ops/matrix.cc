// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/matrix.h"

#include <algorithm>

#include "framework/core/error_place.h"
#include "framework/ops/creation.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

// x with zeros where column - row > most, or < least.
Tensor band(const Tensor& x, std::optional<int64_t> least, std::optional<int64_t> most,
            std::string_view who) {
  check<InvalidArgument>(x.rank() >= 2, "{}: expected matrices (at least 2 axes), got shape {}.",
                         who, x.shape());
  const int64_t rows = x.dim(-2);
  const int64_t columns = x.dim(-1);
  const Tensor keep =
      most ? tri(rows, {.m = columns, .k = *most, .dtype = DType::Bool})
           : logical_not(
                 tri(rows, {.m = columns, .k = Checked(*least, who) - 1, .dtype = DType::Bool}));
  return x.dtype() == DType::Bool ? logical_and(keep, x) : where(keep, x, 0);
}

// tril or triu of a placeholder whose matrices may have any size.
Tensor open_band(const char* name, const char* class_name, const Tensor& x, int64_t k,
                 Tensor (*f)(const Tensor&, int64_t)) {
  return whole_of(name, x, {"numpy", class_name, Json::object({{"k", k}})},
                  [=](const Tensor& in) { return f(in, k); });
}

bool has_open_matrices(const Tensor& x) {
  return x.rank() >= 2 && (is_open(x, -1) || is_open(x, -2));
}

// Component i along the last axis.
Tensor component(const Tensor& x, int64_t i) { return squeeze(slice_axis(x, -1, i, i + 1), -1); }

}  // namespace

Tensor diag(const Tensor& x, int64_t k) {
  const ErrorPlace scope("diag");
  check<InvalidArgument>(x.rank() == 1 || x.rank() == 2,
                         "diag: expected a vector or a matrix, got shape {}.", x.shape());
  if (x.rank() == 2) return diagonal(x, {.offset = k});
  if (is_open(x)) return open_band("diag", "Diag", x, k, diag);
  const int64_t above = std::max<int64_t>(-Checked(k, "diag"), 0);
  const int64_t size = Checked(x.dim(0), "diag") + above + std::max<int64_t>(k, 0);
  const int64_t elements = Checked(size, "diag") * size;
  if (x.dim(0) == 0) return zeros({size, size}, x.dtype());
  // In the flattened matrix, they are size + 1 apart, from (0, k) or (-k, 0) on.
  const int64_t first = Checked(above, "diag") * size + std::max<int64_t>(k, 0);
  const int64_t end = (Checked(size, "diag") + 1) * (x.dim(0) - 1) + first + 1;
  const Tensor flat =
      call<"pad">({x.strong(), zeros({}, x.dtype())}, {{"low", Shape{first}.dims()},
                                                       {"high", Shape{elements - end}.dims()},
                                                       {"interior", Shape{size}.dims()}});
  return reshape(flat, {size, size});
}

Tensor diagflat(const Tensor& x, int64_t k) {
  const ErrorPlace scope("diagflat");
  return diag(ravel(x), k);
}

Tensor diagonal(const Tensor& x, const DiagonalOptions& options) {
  check<InvalidArgument>(x.rank() >= 2, "diagonal: expected at least 2 axes, got shape {}.",
                         x.shape());
  const int64_t row_axis = x.shape().normalize_axis(options.axis1, "diagonal");
  const int64_t column_axis = x.shape().normalize_axis(options.axis2, "diagonal");
  check<InvalidArgument>(row_axis != column_axis,
                         "diagonal: expected two different axes, got {} and {}.", options.axis1,
                         options.axis2);
  if (is_open(x)) {
    const Json config = Json::object(
        {{"offset", options.offset}, {"axis1", options.axis1}, {"axis2", options.axis2}});
    return whole_of("diagonal", x, {"numpy", "Diagonal", config},
                    [options](const Tensor& in) { return diagonal(in, options); });
  }
  std::vector<int64_t> order;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (axis != row_axis && axis != column_axis) order.push_back(axis);
  }
  order.push_back(row_axis);
  order.push_back(column_axis);
  const Tensor matrices = transpose(x, order);
  const Shape leading = matrices.shape().slice(0, x.rank() - 2);
  const int64_t rows = matrices.dim(-2);
  const int64_t columns = matrices.dim(-1);
  const int64_t first_row = std::max<int64_t>(-Checked(options.offset, "diagonal"), 0);
  const int64_t first_column = std::max<int64_t>(options.offset, 0);
  const int64_t count = std::max<int64_t>(std::min(rows - first_row, columns - first_column), 0);
  // In a flattened matrix, diagonal elements are columns + 1 apart.
  const int64_t first = count == 0 ? 0 : Checked(first_row, "diagonal") * columns + first_column;
  const Tensor flat = reshape(matrices, leading.concat({Checked(rows, "diagonal") * columns}));
  std::vector<int64_t> starts(static_cast<size_t>(leading.rank()), 0);
  std::vector<int64_t> strides(static_cast<size_t>(leading.rank()), 1);
  starts.push_back(first);
  strides.push_back(columns + 1);
  return slice(flat, starts, leading.concat({count}).dims(), strides);
}

Tensor trace(const Tensor& x, const DiagonalOptions& options) {
  const ErrorPlace scope("trace");
  return sum(diagonal(x, options), -1);
}

Tensor tril(const Tensor& x, int64_t k) {
  const ErrorPlace scope("tril");
  return has_open_matrices(x) ? open_band("tril", "Tril", x, k, tril) : band(x, {}, k, "tril");
}
Tensor triu(const Tensor& x, int64_t k) {
  const ErrorPlace scope("triu");
  return has_open_matrices(x) ? open_band("triu", "Triu", x, k, triu) : band(x, k, {}, "triu");
}

Tensor cross(const Tensor& x1, const Tensor& x2, const CrossOptions& options) {
  const ErrorPlace scope("cross");
  const auto [first, second] = unify(x1, x2, "cross");
  const Tensor a = moveaxis(first, options.axis.value_or(options.axisa), -1);
  const Tensor b = moveaxis(second, options.axis.value_or(options.axisb), -1);
  const int64_t m = a.dim(-1);
  const int64_t n = b.dim(-1);
  check<InvalidArgument>((m == 2 || m == 3) && (n == 2 || n == 3),
                         "cross: expected vectors of 2 or 3 along axis {}, got shapes {} and {}.",
                         options.axis.value_or(options.axisa), x1.shape(), x2.shape());
  const Tensor third = component(a, 0) * component(b, 1) - component(a, 1) * component(b, 0);
  if (m == 2 && n == 2) return third;
  // a2 b3 - a3 b2, where a missing third component is 0.
  auto difference = [&](int64_t i, int64_t j) {
    auto product = [&](int64_t p, int64_t q) {
      return p < m && q < n ? component(a, p) * component(b, q) : zeros_like(third);
    };
    return product(i, j) - product(j, i);
  };
  return stack({difference(1, 2), difference(2, 0), third}, options.axis.value_or(options.axisc));
}

Tensor inner(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("inner");
  if (x1.rank() == 0 || x2.rank() == 0) return x1 * x2;
  return tensordot(x1, x2, {-1}, {-1});
}

Tensor vdot(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("vdot");
  const auto [a, b] = unify(x1, x2, "vdot");
  return dot(ravel(a), ravel(b));
}

Tensor kron(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("kron");
  if (is_open(x1) || is_open(x2)) {
    return whole_of("kron", std::vector<Tensor>{x1, x2}, {"numpy", "Kron"},
                    [](const std::vector<Tensor>& in) { return kron(in[0], in[1]); });
  }
  const int64_t rank = std::max(x1.rank(), x2.rank());
  auto padded = [&](const Tensor& x) {
    return Shape(std::vector<int64_t>(static_cast<size_t>(rank - x.rank()), 1)).concat(x.shape());
  };
  const Shape outer_sizes = padded(x1);
  const Shape inner_sizes = padded(x2);
  Shape outer_shape;
  Shape inner_shape;
  Shape result;
  for (int64_t axis = 0; axis < rank; ++axis) {
    outer_shape = outer_shape.concat({outer_sizes[axis], 1});
    inner_shape = inner_shape.concat({1, inner_sizes[axis]});
    result.push_back(Checked(outer_sizes[axis], "kron") * inner_sizes[axis]);
  }
  return reshape(reshape(x1.strong(), outer_shape) * reshape(x2.strong(), inner_shape), result);
}

}  // namespace cornu::ops
