// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/reduce.h"

#include <optional>

#include "framework/core/error_place.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/norm.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

template <OpName kName>
Tensor reduce(const Tensor& x, const std::vector<int64_t>& axes, bool keepdims) {
  if (axes.empty()) return x.strong();
  return call<kName>({x}, {{"axes", axes}, {"keepdims", keepdims}});
}

// An empty set has no extreme, as in Keras and NumPy.
template <OpName kName>
Tensor extreme(const Tensor& x, const Axes& axis, bool keepdims, std::string_view who) {
  require_defined(x, who);
  const std::vector<int64_t> axes = axis.normalized(x.shape(), who);
  const bool empty = x.shape().is_static() && x.num_elements() == 0 &&
                     reduced_shape(x.shape(), axes, false).num_elements() > 0;
  check<InvalidArgument>(!empty, "{}: expected at least one element for each result, got shape {}.",
                         who, x.shape());
  return reduce<kName>(x, axes, keepdims);
}

// Keras's rule: small integers are accumulated in wider ones.
Tensor widened(const Tensor& x) {
  if (x.dtype() == DType::Bool || x.dtype() == DType::Int8) return cast(x, DType::Int32);
  return x.dtype() == DType::UInt8 ? cast(x, DType::UInt32) : x;
}

// The number of elements that each result of a reduction is computed from; symbolic if an axis is
// unknown.
Tensor count_of(const Tensor& x, const std::vector<int64_t>& axes, bool keepdims) {
  double count = 1;
  for (int64_t axis : axes) {
    if (x.shape()[axis] == kUnknown) {
      return reduce<"reduce_sum">(ones_like(x), axes, keepdims);
    }
    count *= static_cast<double>(x.shape()[axis]);
  }
  return count;
}

template <OpName kName>
Tensor arg_reduce(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  require_defined(x, kName.text);
  if (!axis) {
    const Tensor place = call<kName>({ravel(x)}, {{"axis", int64_t{0}}});
    if (!keepdims) return place;
    return reshape(place, Shape(std::vector<int64_t>(static_cast<size_t>(x.rank()), 1)));
  }
  const int64_t normalized = x.shape().normalize_axis(*axis, kName.text);
  const Tensor place = call<kName>({x}, {{"axis", normalized}});
  return keepdims ? expand_dims(place, normalized) : place;
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axis, bool keepdims) {
  return reduce<"reduce_sum">(widened(x), axis.normalized(x.shape(), "sum"), keepdims);
}

Tensor prod(const Tensor& x, const Axes& axis, bool keepdims) {
  return reduce<"reduce_prod">(widened(x), axis.normalized(x.shape(), "prod"), keepdims);
}

Tensor prod(const Tensor& x, const Axes& axis, bool keepdims, DTypeLike dtype) {
  return reduce<"reduce_prod">(cast(x, dtype), axis.normalized(x.shape(), "prod"), keepdims);
}

Tensor max(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("max");
  return extreme<"reduce_max">(x, axis, keepdims, "max");
}

Tensor min(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("min");
  return extreme<"reduce_min">(x, axis, keepdims, "min");
}

Tensor max(const Tensor& x, const Axes& axis, bool keepdims, const Tensor& initial) {
  const ErrorPlace scope("max");
  const std::vector<int64_t> axes = axis.normalized(x.shape(), "max");
  return cast(maximum(reduce<"reduce_max">(x, axes, keepdims), cast(initial, x.dtype())),
              x.dtype());
}

Tensor min(const Tensor& x, const Axes& axis, bool keepdims, const Tensor& initial) {
  const ErrorPlace scope("min");
  const std::vector<int64_t> axes = axis.normalized(x.shape(), "min");
  return cast(minimum(reduce<"reduce_min">(x, axes, keepdims), cast(initial, x.dtype())),
              x.dtype());
}

Tensor amax(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("amax");
  return max(x, axis, keepdims);
}
Tensor amin(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("amin");
  return min(x, axis, keepdims);
}

Tensor any(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("any");
  return reduce<"reduce_max">(cast(x, DType::Bool), axis.normalized(x.shape(), "any"), keepdims);
}

Tensor all(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("all");
  return reduce<"reduce_min">(cast(x, DType::Bool), axis.normalized(x.shape(), "all"), keepdims);
}

namespace {

// A reduction of a placeholder that Keras has as a single op; nullopt for other tensors.
std::optional<Tensor> as_one_op(const char* name, const char* module, const char* class_name,
                                const Tensor& x, const Axes& axis, bool keepdims,
                                Tensor (*f)(const Tensor&, const Axes&, bool)) {
  if (!is_model_placeholder(x)) return std::nullopt;
  const Json axes = axis.all() ? Json() : Json(axis.normalized(x.shape(), name));
  return whole_of(name, x,
                  {module, class_name, Json::object({{"axis", axes}, {"keepdims", keepdims}})},
                  [=](const Tensor& in) { return f(in, axis, keepdims); });
}

}  // namespace

Tensor mean(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("mean");
  if (const auto one = as_one_op("mean", "numpy", "Mean", x, axis, keepdims, mean)) return *one;
  const std::vector<int64_t> axes = axis.normalized(x.shape(), "mean");
  const Tensor wide = to_accumulator(x);
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : wide.dtype();
  if (axes.empty()) return cast(wide, dtype);
  return cast(reduce<"reduce_sum">(wide, axes, keepdims) / count_of(wide, axes, keepdims), dtype);
}

Tensor var(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("var");
  if (const auto one = as_one_op("var", "numpy", "Var", x, axis, keepdims, var)) return *one;
  return moments(x, axis, keepdims).second;
}

Tensor std(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("std");
  if (const auto one = as_one_op("std", "numpy", "Std", x, axis, keepdims, std)) return *one;
  return sqrt(var(x, axis, keepdims));
}

Tensor logsumexp(const Tensor& x, const Axes& axis, bool keepdims) {
  const ErrorPlace scope("logsumexp");
  if (const auto one = as_one_op("logsumexp", "math", "Logsumexp", x, axis, keepdims, logsumexp)) {
    return *one;
  }
  const std::vector<int64_t> axes = axis.normalized(x.shape(), "logsumexp");
  const Tensor real = to_floating(x);
  const Tensor largest = call<"stop_gradient">({reduce<"reduce_max">(real, axes, true)});
  const Tensor shift = where(isfinite(largest), largest, 0);
  const Tensor result = log(reduce<"reduce_sum">(exp(real - shift), axes, true)) + shift;
  return keepdims ? result : squeeze(result, axes);
}

Tensor count_nonzero(const Tensor& x, const Axes& axis) {
  const ErrorPlace scope("count_nonzero");
  Checked most(1, "count_nonzero");
  for (int64_t i : axis.normalized(x.shape(), "count_nonzero")) {
    if (x.shape()[i] != kUnknown) most = most * x.shape()[i];
  }
  return sum(cast(not_equal(x, 0), index_dtype(most)), axis);
}

Tensor argmax(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  const ErrorPlace scope("argmax");
  return arg_reduce<"argmax">(x, axis, keepdims);
}

Tensor argmin(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  const ErrorPlace scope("argmin");
  return arg_reduce<"argmin">(x, axis, keepdims);
}

Tensor cumsum(const Tensor& x, std::optional<int64_t> axis, const CumsumOptions& options) {
  const DType dtype = options.dtype              ? DType(*options.dtype)
                      : x.dtype() == DType::Bool ? DType::Int32
                                                 : x.dtype();
  const Tensor numbers = cast(x, dtype);
  const Tensor along = axis ? numbers : ravel(numbers);
  return call<"cumsum">({along},
                        {{"axis", along.shape().normalize_axis(axis.value_or(0), "cumsum")},
                         {"exclusive", options.exclusive},
                         {"reverse", options.reverse}});
}

Tensor argsort(const Tensor& x, std::optional<int64_t> axis, bool descending) {
  if (!axis) return argsort(ravel(x), 0, descending);
  return call<"argsort">(
      {x}, {{"axis", x.shape().normalize_axis(*axis, "argsort")}, {"descending", descending}});
}

Tensor argpartition(const Tensor& x, int64_t kth, std::optional<int64_t> axis) {
  const Tensor order = argsort(x, axis);
  const int64_t size = order.dim(axis.value_or(0));
  check<InvalidArgument>(size == kUnknown || (kth >= -size && kth < size),
                         "argpartition: expected kth in [-{}, {}), got {}.", size, size, kth);
  return order;
}

Tensor sort(const Tensor& x, int64_t axis, bool descending) {
  const ErrorPlace scope("sort");
  return take_along_axis(x, argsort(x, axis, descending), axis);
}

std::pair<Tensor, Tensor> top_k(const Tensor& x, int64_t k) {
  const int64_t last = x.shape().normalize_axis(-1, "top_k");
  check<InvalidArgument>(k >= 0 && (x.shape()[last] == kUnknown || k <= x.shape()[last]),
                         "top_k: expected k in [0, {}], the size of the last axis of shape {}, got "
                         "{}.",
                         x.shape()[last], x.shape(), k);
  const Tensor places = call<"argsort">({x}, {{"axis", last}, {"descending", true}, {"first", k}});
  return {take_along_axis(x, places, -1), places};
}

Tensor sum_to_shape(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int64_t added = x.rank() - shape.rank();
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (axis < added || (shape[axis - added] == 1 && x.shape()[axis] != 1)) axes.push_back(axis);
  }
  const Tensor reduced = reduce<"reduce_sum">(x, axes, false);
  return reduced.shape() == shape ? reduced : reshape(reduced, shape);
}

}  // namespace cornu::ops
