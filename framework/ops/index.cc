// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/index.h"

#include "framework/core/error_place.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

Shape gathered_shape(const Shape& x, const Shape& indices, int64_t axis) {
  return x.slice(0, axis).concat(indices).concat(x.slice(axis + 1));
}

Types infer_gather(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "take");
  require_index(inputs[1], "take");
  const int64_t axis = checked_axis(attributes, inputs[0].shape, "take");
  return {{inputs[0].dtype, gathered_shape(inputs[0].shape, inputs[1].shape, axis)}};
}

Types infer_scatter_add(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "scatter_add");
  require_index(inputs[0], "scatter_add");
  const Shape shape = attributes.get_shape("shape");
  require_sizes(shape, "scatter_add");
  const int64_t axis = checked_axis(attributes, shape, "scatter_add");
  const Shape expected = gathered_shape(shape, inputs[0].shape, axis);
  check<InvalidArgument>(inputs[1].shape == expected,
                         "scatter_add: expected updates of shape {}, got {}.", expected,
                         inputs[1].shape);
  return {{inputs[1].dtype, shape}};
}

Gradients gather_vjp(const VjpContext& c) {
  return {call<"scatter_add">({c.in(1), c.gradient()}, {{"shape", c.in(0).shape().dims()},
                                                        {"axis", c.attributes.get_int("axis")}}),
          Tensor()};
}

Gradients scatter_add_vjp(const VjpContext& c) {
  return {Tensor(), take(c.gradient(), c.in(0), c.attributes.get_int("axis"))};
}

void require_along(const Shape& x, const Shape& indices, const Attributes& attributes,
                   std::string_view who) {
  const int64_t axis = checked_axis(attributes, x, who);
  Shape expected = x;
  bool fits = indices.rank() == x.rank();
  if (fits) {
    expected[axis] = indices[axis];
    fits = indices == expected;
  }
  check<InvalidArgument>(fits, "{}: expected indices of shape {} but for axis {}, got {}.", who, x,
                         axis, indices);
}

Types infer_take_along(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "take_along_axis");
  require_index(inputs[1], "take_along_axis");
  require_along(inputs[0].shape, inputs[1].shape, attributes, "take_along_axis");
  return {{inputs[0].dtype, inputs[1].shape}};
}

Types infer_put_along(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "put_along_axis_add");
  require_index(inputs[0], "put_along_axis_add");
  const Shape shape = attributes.get_shape("shape");
  require_sizes(shape, "put_along_axis_add");
  require_along(shape, inputs[0].shape, attributes, "put_along_axis_add");
  check<InvalidArgument>(inputs[1].shape == inputs[0].shape,
                         "put_along_axis_add: expected updates of shape {}, got {}.",
                         inputs[0].shape, inputs[1].shape);
  return {{inputs[1].dtype, shape}};
}

Gradients take_along_vjp(const VjpContext& c) {
  return {
      call<"put_along_axis_add">({c.in(1), c.gradient()}, {{"shape", c.in(0).shape().dims()},
                                                           {"axis", c.attributes.get_int("axis")}}),
      Tensor()};
}

Gradients put_along_vjp(const VjpContext& c) {
  return {Tensor(), take_along_axis(c.gradient(), c.in(0), c.attributes.get_int("axis"))};
}

Types infer_one_hot(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "one_hot");
  require_index(inputs[0], "one_hot");
  const int64_t depth = attributes.get_int("depth");
  check<InvalidArgument>(depth >= 0, "one_hot: expected num_classes >= 0, got {}.", depth);
  return {{attributes.get_dtype("dtype"), inputs[0].shape.concat({depth})}};
}

Types infer_searchsorted(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "searchsorted");
  require_same_dtype(inputs, "searchsorted");
  check<InvalidArgument>(inputs[0].shape.rank() == 1,
                         "searchsorted: expected a sorted vector, got shape {}.", inputs[0].shape);
  attributes.get_bool("right");
  return {{DType::Int32, inputs[1].shape}};
}

}  // namespace

void register_index(OpRegistry& registry) {
  registry.add({.name = "gather",
                .infer = infer_gather,
                .vjp = gather_vjp,
                .traits = {.checks_values = true, .strings = OpTraits::Strings::Moved}});
  registry.add({.name = "scatter_add",
                .infer = infer_scatter_add,
                .vjp = scatter_add_vjp,
                .traits = {.checks_values = true}});
  registry.add({.name = "take_along_axis",
                .infer = infer_take_along,
                .vjp = take_along_vjp,
                .traits = {.checks_values = true, .strings = OpTraits::Strings::Moved}});
  registry.add({.name = "put_along_axis_add",
                .infer = infer_put_along,
                .vjp = put_along_vjp,
                .traits = {.checks_values = true}});
  registry.add(
      {.name = "one_hot", .infer = infer_one_hot, .vjp = {}, .traits = {.differentiable = false}});
  registry.add({.name = "searchsorted",
                .infer = infer_searchsorted,
                .vjp = {},
                .traits = {.differentiable = false}});
}

Tensor take(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis) {
  if (!axis) return take(ravel(x), indices, 0);
  return call<"gather">({x, indices}, {{"axis", x.shape().normalize_axis(*axis, "take")}});
}

Tensor take_known(const Tensor& table, const Tensor& places, const std::string& owner) {
  return call<"gather">({table, places}, {{"axis", 0}, {"vocabulary_of", owner}});
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis) {
  if (!axis) return take_along_axis(ravel(x), ravel(indices), 0);
  const int64_t along = x.shape().normalize_axis(*axis, "take_along_axis");
  const Attributes attributes = {{"axis", along}};
  if (x.rank() != indices.rank()) return call<"take_along_axis">({x, indices}, attributes);
  Shape of_x = x.shape(), of_indices = indices.shape();
  bool fits = true;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const int64_t a = of_x[i], b = of_indices[i];
    if (i == along || a == b) continue;
    fits = fits && (a == 1 || b == 1 || a == kUnknown || b == kUnknown);
    of_x[i] = of_indices[i] = a == 1 ? b : a;
  }
  // Shapes that don't fit are left for the op to report; shapes that may only turn out to broadcast
  // later are kept for then.
  if (fits && (is_open(x) || is_open(indices)) &&
      (x.shape() != of_x || indices.shape() != of_indices)) {
    return whole_of(
        "take_along_axis", std::vector<Tensor>{x, indices},
        {"numpy", "TakeAlongAxis", Json::object({{"axis", along}})},
        [along](const std::vector<Tensor>& in) { return take_along_axis(in[0], in[1], along); });
  }
  if (!fits) return call<"take_along_axis">({x, indices}, attributes);
  const auto widened = [](const Tensor& t, const Shape& shape) {
    return t.shape() == shape ? t : broadcast_to(t, shape);
  };
  return call<"take_along_axis">({widened(x, of_x), widened(indices, of_indices)}, attributes);
}

Tensor one_hot(const Tensor& x, int64_t num_classes, int64_t axis, DTypeLike dtype) {
  const Tensor numbers = is_integer(x.dtype()) ? x.strong() : cast(x, DType::Int64);
  const Tensor encoded =
      call<"one_hot">({numbers}, {{"depth", num_classes}, {"dtype", DType(dtype)}});
  return axis == -1 || axis == x.rank() ? encoded : moveaxis(encoded, -1, axis);
}

Tensor segment_sum(const Tensor& data, const Tensor& segment_ids, int64_t num_segments) {
  const ErrorPlace scope("segment_sum");
  if (data.dtype() == DType::Bool) {
    return segment_sum(cast(data, DType::Int32), segment_ids, num_segments);
  }
  if (is_integer(segment_ids.dtype()) && size_of(segment_ids.dtype()) == 1) {
    return segment_sum(data, cast(segment_ids, DType::Int64), num_segments);  // holds any number
  }
  const Shape shape = Shape{num_segments}.concat(data.shape().slice(1));
  if (!shape.is_static() && is_open(data)) {
    const Json config = Json::object({{"num_segments", num_segments}, {"sorted", false}});
    return whole_of(
        "segment_sum", std::vector<Tensor>{data, segment_ids}, {"math", "SegmentSum", config},
        [=](const std::vector<Tensor>& in) { return segment_sum(in[0], in[1], num_segments); });
  }
  // Ids don't count from the end: a negative one is as invalid as one that is too large.
  const Tensor ids = is_signed(segment_ids.dtype())
                         ? where(segment_ids < 0, segment_ids - num_segments, segment_ids)
                         : segment_ids;
  return call<"scatter_add">({ids, data},
                             {{"shape", shape.dims()}, {"axis", int64_t{0}}, {"segments", true}});
}

Tensor in_top_k(const Tensor& targets, const Tensor& predictions, int64_t k) {
  const ErrorPlace scope("in_top_k");
  check<InvalidArgument>(targets.rank() == 1 && predictions.rank() == 2,
                         "in_top_k: expected targets (batch) and predictions (batch, classes), got "
                         "{} and {}.",
                         targets.shape(), predictions.shape());
  const int64_t classes = predictions.shape()[1];
  check<InvalidArgument>(classes != kUnknown,
                         "in_top_k: expected a known number of classes, got a placeholder of shape "
                         "{}.",
                         predictions.shape());
  // By a mask rather than by index: a target that isn't a class is simply not found.
  const Tensor mask = one_hot(targets, classes, -1, DType::Bool);
  const Tensor score = sum(where(mask, predictions, 0), -1, true);
  const Tensor better = count_nonzero(predictions > score, -1);
  return logical_and(better < k, logical_and(any(mask, -1), all(isfinite(predictions), -1)));
}

}  // namespace cornu::ops
