// SPDX-License-Identifier: Apache-2.0
// Definitions of the reductions and scans.
#include <algorithm>

#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/register.h"
#include "framework/ops/running.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

using Context = VjpContext;

bool contains(const std::vector<int64_t>& axes, int64_t axis) {
  return std::binary_search(axes.begin(), axes.end(), axis);
}

InferFunction infer_reduce(std::string op, bool takes_bool) {
  return [=](TypeSpan inputs, const Attributes& attributes) -> Types {
    require_inputs(inputs, 1, op);
    const auto& [dtype, shape] = inputs[0];
    check<InvalidArgument>(takes_bool || dtype != DType::Bool,
                           "{}: expected numbers, got bool of shape {}. Cast it first.", op, shape);
    const auto& axes = attributes.get_ints("axes");
    const bool valid =
        !axes.empty() && axes.front() >= 0 && axes.back() < shape.rank() &&
        std::adjacent_find(axes.begin(), axes.end(), std::greater_equal<>()) == axes.end();
    check<InvalidArgument>(valid, "{}: expected different axes in [0, {}) for shape {}, got {}.",
                           op, shape.rank(), shape, Shape(axes));
    return {{dtype, reduced_shape(shape, axes, attributes.get_bool("keepdims"))}};
  };
}

// A reduction's result (or its gradient), reshaped to broadcast against the input.
Tensor as_kept(const Tensor& reduced, const Context& context) {
  if (context.attributes.get_bool("keepdims")) return reduced;
  const auto& axes = context.attributes.get_ints("axes");
  if (axes.back() == static_cast<int64_t>(axes.size()) - 1) return reduced;  // the leading axes
  return reshape(reduced, reduced_shape(context.in(0).shape(), axes, true));
}

Tensor vjp_sum(const Context& context) {
  return broadcast_to(as_kept(context.gradient(), context), context.in(0).shape());
}

// Equal extremes share the gradient evenly, as in TensorFlow.
Tensor vjp_extreme(const Context& context) {
  const Tensor& x = context.in(0);
  const Tensor chosen = equal(x, as_kept(context.out(), context));
  const Tensor count =
      call<"reduce_sum">({cast(chosen, x.dtype())},
                         {{"axes", context.attributes.get_ints("axes")}, {"keepdims", true}});
  return where(chosen, as_kept(context.gradient(), context) / count, 0);
}

// The products of all elements before each one along an axis; in reverse, of those behind it.
Tensor exclusive_products(const Tensor& x, int64_t axis, bool reverse) {
  if (goes_at_once({x})) {
    return call<"cumprod">({x}, {{"axis", axis}, {"exclusive", true}, {"reverse", reverse}});
  }
  if (reverse) return flip(exclusive_products(flip(x, axis), axis, false), axis);
  return products_by_doubling(moved_back(x, axis, 1, 1), axis);
}

// The product of all other elements along an axis.
Tensor other_factors(const Tensor& x, int64_t axis) {
  return exclusive_products(x, axis, false) * exclusive_products(x, axis, true);
}

// dy times the product of all other elements, computed without division, so that zeros need no
// special treatment.
Tensor vjp_prod(const Context& context) {
  const Tensor& x = context.in(0);
  const auto& axes = context.attributes.get_ints("axes");
  if (axes.size() == 1) return as_kept(context.gradient(), context) * other_factors(x, axes[0]);
  std::vector<int64_t> order;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (!contains(axes, axis)) order.push_back(axis);
  }
  const Shape kept = reduced_shape(x.shape(), axes, false);
  order.insert(order.end(), axes.begin(), axes.end());
  const Tensor moved = transpose(x, order);
  Checked count(1, "prod");
  for (int64_t axis : axes) count = count * x.shape()[axis];
  const Tensor flat = reshape(moved, kept.concat({count}));
  const Tensor others = reshape(other_factors(flat, kept.rank()), moved.shape());
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return as_kept(context.gradient(), context) * transpose(others, back);
}

// Places along an axis are int32.
void require_places(const Shape& shape, int64_t axis, std::string_view op) {
  check<InvalidArgument>(index_dtype(shape[axis]) == DType::Int32,
                         "{}: expected less than 2^31 elements along axis {}, as their places are "
                         "int32, got shape {}. Divide the axis by ops::reshape.",
                         op, axis, shape);
}

InferFunction infer_arg(std::string op) {
  return [=](TypeSpan inputs, const Attributes& attributes) -> Types {
    require_inputs(inputs, 1, op);
    const Shape& shape = inputs[0].shape;
    const int64_t axis = checked_axis(attributes, shape, op);
    check<InvalidArgument>(shape[axis] > 0, "{}: expected elements along axis {}, got shape {}.",
                           op, axis, shape);
    require_places(shape, axis, op);
    return {{DType::Int32, reduced_shape(shape, std::vector<int64_t>{axis}, false)}};
  };
}

InferFunction infer_running(std::string op) {
  return [=](TypeSpan inputs, const Attributes& attributes) -> Types {
    require_inputs(inputs, 1, op);
    checked_axis(attributes, inputs[0].shape, op);
    attributes.get_bool("exclusive");
    attributes.get_bool("reverse");
    check<InvalidArgument>(inputs[0].dtype != DType::Bool,
                           "{}: expected numbers, got bool of shape {}. Cast it first.", op,
                           inputs[0].shape);
    return {inputs[0]};
  };
}

Tensor vjp_cumsum(const Context& context) {
  return cumsum(context.gradient(), context.attributes.get_int("axis"),
                {.exclusive = context.attributes.get_bool("exclusive"),
                 .reverse = !context.attributes.get_bool("reverse")});
}

// The products before each element times s[i] = dy[i] + x[i + 1] s[i + 1], with dy[i + 1] for
// exclusive products: without division, so that zeros need no special treatment.
Tensor vjp_cumprod(const Context& context) {
  const int64_t axis = context.attributes.get_int("axis");
  const bool exclusive = context.attributes.get_bool("exclusive");
  const bool reverse = context.attributes.get_bool("reverse");
  if (context.in(0).shape()[axis] == 0) return context.gradient();
  const auto forward = [&](const Tensor& t) { return reverse ? flip(t, axis) : t; };
  const Tensor dy = forward(context.gradient()), out = forward(context.out());
  const Tensor factors = moved_forward(forward(context.in(0)), axis, 1);
  const Tensor sums =
      backward_recurrence(factors, exclusive ? moved_forward(dy, axis, 1) : dy, axis);
  return forward(sums * (exclusive ? out : moved_back(out, axis, 1, 1)));
}

// All indices, or the `first` ones of each row.
Types infer_argsort(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "argsort");
  Shape shape = inputs[0].shape;
  const int64_t axis = checked_axis(attributes, shape, "argsort");
  attributes.get_bool("descending");
  require_places(shape, axis, "argsort");
  if (attributes.find("first")) {
    const int64_t first = attributes.get_int("first");
    check<InvalidArgument>(first >= 0 && (shape[axis] == kUnknown || first <= shape[axis]),
                           "argsort: expected the first of at most {} places, got {}.", shape[axis],
                           first);
    shape[axis] = first;
  }
  return {{DType::Int32, shape}};
}

}  // namespace

void register_reduce(OpRegistry& registry) {
  auto add = [&](const char* name, bool takes_bool, UnaryVjp vjp) {
    registry.add(
        {.name = name, .infer = infer_reduce(name, takes_bool), .vjp = single(vjp), .traits = {}});
  };
  add("reduce_sum", false, vjp_sum);
  add("reduce_prod", false, vjp_prod);
  add("reduce_max", true, vjp_extreme);
  add("reduce_min", true, vjp_extreme);
  for (const char* name : {"argmax", "argmin"}) {
    registry.add(
        {.name = name, .infer = infer_arg(name), .vjp = {}, .traits = {.differentiable = false}});
  }
  registry.add({.name = "cumsum",
                .infer = infer_running("cumsum"),
                .vjp = single(vjp_cumsum),
                .traits = {}});
  registry.add({.name = "cumprod",
                .infer = infer_running("cumprod"),
                .vjp = single(vjp_cumprod),
                .traits = {}});
  registry.add(
      {.name = "argsort", .infer = infer_argsort, .vjp = {}, .traits = {.differentiable = false}});
}

}  // namespace cornu::ops
