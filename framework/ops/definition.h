// SPDX-License-Identifier: Apache-2.0
// What the families share to define and call ops. Internal to framework/ops.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/checked.h"
#include "framework/core/tensor.h"
#include "framework/graph/at_once.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/op.h"

namespace cornu::ops::internal {

// ---- calling ops ----

template <size_t kSize>
struct OpName {
  char text[kSize];
  consteval OpName(const char (&name)[kSize]) {  // NOLINT: implicit on purpose
    std::copy(name, name + kSize, text);
  }
};

// The definition in the global registry.
const OpDef& find_op(std::string_view name);

template <OpName kName>
const OpDef& op() {
  static const OpDef& definition = find_op(kName.text);
  return definition;
}

// Applies an op; the one output.
template <OpName kName>
Tensor call(const std::vector<Tensor>& inputs, const Attributes& attributes = {}) {
  return apply(op<kName>(), inputs, attributes).front();
}

// A composite of several ops (compute_at_once): what `body` makes of `inputs`. `attributes` are the
// numbers that it depends on besides. kHasSums: it isn't made of elementwise ops and rearrangements
// alone.
template <OpName kName, bool kHasSums = false, class Body>
Tensor at_once(const std::vector<Tensor>& inputs, const Attributes& attributes, Body body) {
  static const auto* composite =
      new OpDef{.name = kName.text, .infer = {}, .vjp = {}, .traits = {.elementwise = !kHasSums}};
  return compute_at_once(*composite, inputs, attributes, body);
}
// Of one operand, without numbers.
template <OpName kName, class Body>
Tensor at_once(const Tensor& x, Body body) {
  return at_once<kName>({x}, {}, [&](const std::vector<Tensor>& in) { return body(in[0]); });
}

// ---- dtypes of operands ----

// A weak scalar as a strongly typed one of `dtype`; an integer that doesn't fit is InvalidArgument.
Tensor typed_scalar(const Tensor& weak, DType dtype, std::string_view who);
// The same for casts: integers wrap around.
Tensor converted_scalar(const Tensor& weak, DType dtype);
// A scalar of `dtype`, for constants in definitions.
Tensor constant(double value, DType dtype);
// The same of another tensor's dtype.
inline Tensor constant_like(const Tensor& x, double value) { return constant(value, x.dtype()); }

// Both operands in their common dtype.
std::pair<Tensor, Tensor> unify(const Tensor& x1, const Tensor& x2, std::string_view who);
// Floating-point operands as they are, others as float32.
Tensor to_floating(const Tensor& x);
// Two operands in their common dtype, as to_floating gives it.
std::pair<Tensor, Tensor> unified_reals(const Tensor& x1, const Tensor& x2, std::string_view who);
// float16 and bfloat16 as float32, others as to_floating gives them.
Tensor to_accumulator(const Tensor& x);

// FailedPrecondition, naming the op, for an undefined tensor.
void require_defined(const Tensor& x, std::string_view who);

// ---- shapes that may not be known ----

// InvalidArgument, with the way out, when an axis of a placeholder isn't known.
void require_static(const Tensor& x, std::string_view who);

// The shape without `axes` (sorted; with 1s in their place when `keepdims`).
Shape reduced_shape(const Shape& shape, std::span<const int64_t> axes, bool keepdims);

// ---- inference ----

using Types = std::vector<TensorType>;
using TypeSpan = std::span<const TensorType>;
using Gradients = std::vector<Tensor>;  // what a vjp returns: one for each input

void require_inputs(TypeSpan inputs, size_t count, std::string_view op);
void require_floating(const TensorType& type, std::string_view op);
void require_index(const TensorType& type, std::string_view op);  // an integer dtype
void require_same_dtype(TypeSpan inputs, std::string_view op);
void require_shape(const TensorType& type, const Shape& shape, std::string_view op,
                   std::string_view what);
void require_rank(const TensorType& type, int64_t least, std::string_view op);
// An axis attribute that comes from a file may be anything.
int64_t checked_axis(const Attributes& attributes, const Shape& shape, std::string_view op);
// Every size is known, and so is their product: below 2^48, lest sizes from a file overflow.
void require_sizes(const Shape& shape, std::string_view op);

// "(2, -1)": places, of which a negative one isn't unknown as a shape's size is.
std::string listed(std::span<const int64_t> numbers);

// ---- vjps ----

// A vjp of an op with one input and one output.
using UnaryVjp = Tensor (*)(const VjpContext&);
VjpFunction single(UnaryVjp vjp);

}  // namespace cornu::ops::internal
