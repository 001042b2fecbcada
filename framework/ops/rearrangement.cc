// SPDX-License-Identifier: Apache-2.0
// Definitions of the ops that rearrange elements.
#include <algorithm>
#include <numeric>

#include "framework/graph/trace.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/register.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

using Context = VjpContext;
using Ints = std::vector<int64_t>;

// ---- reshape, transpose, broadcast_to, reverse ----

Types infer_reshape(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "reshape");
  Shape shape = attributes.get_shape("shape");
  const int64_t count = inputs[0].shape.num_elements();
  Checked known(1, "reshape");
  int64_t open = -1;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == kUnknown && open < 0) {
      open = axis;
    } else {
      known = known * shape[axis];
    }
  }
  if (open >= 0 && known > 0 && count % known == 0) {
    shape[open] = count / known;
  } else if (open >= 0 && known > 0 && is_inferring_types() && count % unknown_size() == 0) {
    // Of the possible numbers of rows, some fit.
    shape[open] = unknown_size();
    return {{inputs[0].dtype, shape}};
  }
  check<InvalidArgument>(shape.is_static() && shape.num_elements() == count,
                         "reshape: expected a shape of {} elements, as {} has, got {}.", count,
                         inputs[0].shape, attributes.get_shape("shape"));
  return {{inputs[0].dtype, shape}};
}

Tensor vjp_reshape(const Context& context) {
  return reshape(context.gradient(), context.in(0).shape());
}

Types infer_barrier(TypeSpan inputs, const Attributes&) {
  require_inputs(inputs, 1, "optimization_barrier");
  return {inputs[0]};
}

Types infer_transpose(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "transpose");
  const Ints& permutation = attributes.get_ints("permutation");
  const Shape& shape = inputs[0].shape;
  Ints sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  Ints all(static_cast<size_t>(shape.rank()));
  std::iota(all.begin(), all.end(), 0);
  check<InvalidArgument>(sorted == all,
                         "transpose: expected a permutation of {} axes for shape {}, got {}.",
                         shape.rank(), shape, Shape(permutation));
  Shape result;
  for (int64_t axis : permutation) result.push_back(shape[axis]);
  return {{inputs[0].dtype, result}};
}

Tensor vjp_transpose(const Context& context) {
  const Ints& permutation = context.attributes.get_ints("permutation");
  Ints inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  }
  return transpose(context.gradient(), inverse);
}

Types infer_broadcast_to(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "broadcast_to");
  const Shape shape = attributes.get_shape("shape");
  require_sizes(shape, "broadcast_to");
  const Shape& from = inputs[0].shape;
  const int64_t added = shape.rank() - from.rank();
  bool fits = added >= 0;
  for (int64_t axis = 0; fits && axis < from.rank(); ++axis) {
    fits = from[axis] == 1 || from[axis] == shape[added + axis] ||
           // An unknown size may turn out to fit.
           (is_inferring_types() && from[axis] == unknown_size());
  }
  check<InvalidArgument>(
      fits,
      "broadcast_to: expected a shape that {} can be broadcast to (axes equal or "
      "1, counted from the last), got {}.",
      from, shape);
  return {{inputs[0].dtype, shape}};
}

Tensor vjp_broadcast_to(const Context& context) {
  return sum_to_shape(context.gradient(), context.in(0).shape());
}

Types infer_reverse(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "reverse");
  for (int64_t axis : attributes.get_ints("axes")) {
    check<InvalidArgument>(axis >= 0 && axis < inputs[0].shape.rank(),
                           "reverse: expected axes in [0, {}) for shape {}, got {}.",
                           inputs[0].shape.rank(), inputs[0].shape, axis);
  }
  return {inputs[0]};
}

Tensor vjp_reverse(const Context& context) {
  return flip(context.gradient(), context.attributes.get_ints("axes"));
}

// ---- concatenate, slice, pad ----

Types infer_concatenate(TypeSpan inputs, const Attributes& attributes) {
  check<InvalidArgument>(!inputs.empty(), "concatenate: expected at least one input, got none.");
  require_same_dtype(inputs, "concatenate");
  Shape result = inputs[0].shape;
  const int64_t axis = checked_axis(attributes, result, "concatenate");
  result[axis] = 0;
  for (const TensorType& input : inputs) {
    Shape rest = input.shape;
    bool fits = rest.rank() == result.rank();
    if (fits) rest[axis] = result[axis];
    check<InvalidArgument>(
        fits && rest == result,
        fmt::runtime(
            rest.rank() == result.rank()
                ? "concatenate: expected shapes that differ at axis {} only, got {} and {}."
                : "concatenate: expected tensors of one number of axes, to be joined at "
                  "axis {}, got {} and {}. Reshape one of them, or use expand_dims."),
        axis, inputs[0].shape, input.shape);
    result[axis] = Checked(result[axis], "concatenate") + input.shape[axis];
  }
  return {{inputs[0].dtype, result}};
}

std::vector<Tensor> vjp_concatenate(const Context& context) {
  const int64_t axis = context.attributes.get_int("axis");
  std::vector<Tensor> gradients(context.inputs.size());
  int64_t begin = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const int64_t end = begin + context.in(i).shape()[axis];
    if (context.needed[i]) gradients[i] = slice_axis(context.gradient(), axis, begin, end);
    begin = end;
  }
  return gradients;
}

Types infer_slice(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "slice");
  const Shape& shape = inputs[0].shape;
  const Ints& begin = attributes.get_ints("begin");
  const Ints& size = attributes.get_ints("size");
  const Ints& strides = attributes.get_ints("strides");
  const auto rank = static_cast<size_t>(shape.rank());
  bool fits = begin.size() == rank && size.size() == rank && strides.size() == rank;
  Shape result = shape;
  for (size_t i = 0; fits && i < rank; ++i) {
    const auto axis = static_cast<int64_t>(i);
    fits = begin[i] >= 0 && begin[i] <= shape[axis] && strides[i] >= 1 && size[i] >= kUnknown;
    if (!fits) break;
    const int64_t room = shape[axis] - begin[i];
    result[axis] = size[i] != kUnknown ? size[i] : room == 0 ? 0 : (room - 1) / strides[i] + 1;
    fits = result[axis] == 0 || (begin[i] < shape[axis] &&
                                 result[axis] - 1 <= (shape[axis] - 1 - begin[i]) / strides[i]);
  }
  check<InvalidArgument>(
      fits, "slice: expected a part of shape {}, got begin {}, size {} and strides {}.", shape,
      listed(begin), Shape(size), listed(strides));
  return {{inputs[0].dtype, result}};
}

// The gradient at the positions of the slice, with zeros around and between.
Tensor vjp_slice(const Context& context) {
  const Shape& shape = context.in(0).shape();
  const Shape& sliced = context.out().shape();
  const Ints& begin = context.attributes.get_ints("begin");
  Ints interior = context.attributes.get_ints("strides");
  Ints high;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t covered = sliced[axis] == 0 ? 0 : (sliced[axis] - 1) * interior[i] + 1;
    high.push_back(shape[axis] - begin[i] - covered);
    --interior[i];
  }
  return call<"pad">({context.gradient(), constant(0, context.gradient().dtype())},
                     {{"low", begin}, {"high", high}, {"interior", interior}});
}

Types infer_pad(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "pad");
  require_same_dtype(inputs, "pad");
  require_shape(inputs[1], Shape{}, "pad", "a value");
  const Shape& shape = inputs[0].shape;
  const Ints& low = attributes.get_ints("low");
  const Ints& high = attributes.get_ints("high");
  const Ints& interior = attributes.get_ints("interior");
  const auto rank = static_cast<size_t>(shape.rank());
  bool fits = low.size() == rank && high.size() == rank && interior.size() == rank;
  Shape result = shape;
  for (size_t i = 0; fits && i < rank; ++i) {
    const auto axis = static_cast<int64_t>(i);
    auto in_range = [](int64_t width) { return width >= 0 && width < (int64_t{1} << 32); };
    fits = in_range(low[i]) && in_range(high[i]) && in_range(interior[i]);
    if (!fits) break;
    const Checked between(std::max<int64_t>(shape[axis] - 1, 0), "pad");
    result[axis] = between * interior[i] + shape[axis] + low[i] + high[i];
  }
  check<InvalidArgument>(fits,
                         "pad: expected {} widths from 0 for shape {}, got low {}, high {} and "
                         "interior {}.",
                         rank, shape, Shape(low), Shape(high), Shape(interior));
  require_sizes(result, "pad");
  return {{inputs[0].dtype, result}};
}

std::vector<Tensor> vjp_pad(const Context& context) {
  const Tensor& dy = context.gradient();
  Ints strides = context.attributes.get_ints("interior");
  for (int64_t& stride : strides) ++stride;
  const Tensor inner =
      slice(dy, context.attributes.get_ints("low"), context.in(0).shape().dims(), strides);
  std::vector<Tensor> gradients(2);
  if (context.needed[0]) gradients[0] = inner;
  if (context.needed[1]) gradients[1] = sum(dy) - sum(inner);
  return gradients;
}

// ---- iota ----

Types infer_iota(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 0, "iota");
  const Shape shape = attributes.get_shape("shape");
  require_sizes(shape, "iota");
  checked_axis(attributes, shape, "iota");
  const DType dtype = attributes.get_dtype("dtype");
  check<InvalidArgument>(dtype != DType::Bool, "iota: expected a dtype of numbers, got bool.");
  return {{dtype, shape}};
}

}  // namespace

void register_shape(OpRegistry& registry) {
  auto add = [&](const char* name, InferFunction infer, VjpFunction vjp) {
    registry.add({.name = name,
                  .infer = std::move(infer),
                  .vjp = std::move(vjp),
                  .traits = {.strings = OpTraits::Strings::Moved}});
  };
  const OpTraits view = {.view = true, .strings = OpTraits::Strings::Moved};
  registry.add(
      {.name = "reshape", .infer = infer_reshape, .vjp = single(vjp_reshape), .traits = view});
  registry.add({.name = "optimization_barrier",
                .infer = infer_barrier,
                .vjp = single([](const Context& context) { return context.gradient(); }),
                .traits = view});
  add("transpose", infer_transpose, single(vjp_transpose));
  add("broadcast_to", infer_broadcast_to, single(vjp_broadcast_to));
  add("reverse", infer_reverse, single(vjp_reverse));
  add("concatenate", infer_concatenate, vjp_concatenate);
  add("slice", infer_slice, single(vjp_slice));
  add("pad", infer_pad, vjp_pad);
  registry.add(
      {.name = "iota", .infer = infer_iota, .vjp = {}, .traits = {.differentiable = false}});
}

}  // namespace cornu::ops
