// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the op families to define and call ops. Internal to framework/ops.
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

// Applies an op with a single output.
template <OpName kName>
Tensor call(const std::vector<Tensor>& inputs, const Attributes& attributes = {}) {
  return apply(op<kName>(), inputs, attributes).front();
}

// A composite of several ops (compute_at_once): computes `body(inputs)`, several tensors.
// `attributes` are the numbers that the body also depends on. kHasSums: whether it consists of more
// than elementwise ops and rearrangements.
template <OpName kName, bool kHasSums = false, class Body>
std::vector<Tensor> all_at_once(const std::vector<Tensor>& inputs, const Attributes& attributes,
                                Body body) {
  static const auto* composite =
      new OpDef{.name = kName.text, .infer = {}, .vjp = {}, .traits = {.elementwise = !kHasSums}};
  return compute_at_once(*composite, inputs, attributes, body);
}
// Overload for a body that returns one tensor.
template <OpName kName, bool kHasSums = false, class Body>
Tensor at_once(const std::vector<Tensor>& inputs, const Attributes& attributes, Body body) {
  return all_at_once<kName, kHasSums>(
             inputs, attributes,
             [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{body(in)}; })
      .front();
}
// Overload for one operand and no numbers.
template <OpName kName, class Body>
Tensor at_once(const Tensor& x, Body body) {
  return at_once<kName>({x}, {}, [&](const std::vector<Tensor>& in) { return body(in[0]); });
}

// ---- dtypes of operands ----

// Converts a weak scalar to a strongly typed one of `dtype`. Throws InvalidArgument for an integer
// that doesn't fit.
Tensor typed_scalar(const Tensor& weak, DType dtype, std::string_view who);
// Likewise for casts: integers wrap around.
Tensor converted_scalar(const Tensor& weak, DType dtype);
// A scalar of `dtype`, for constants in definitions.
Tensor constant(double value, DType dtype);
// Likewise, with the dtype of another tensor.
inline Tensor constant_like(const Tensor& x, double value) { return constant(value, x.dtype()); }

// Converts both operands to their common dtype.
std::pair<Tensor, Tensor> unify(const Tensor& x1, const Tensor& x2, std::string_view who);
// Leaves floating-point operands unchanged, converts others to float32.
Tensor to_floating(const Tensor& x);
// Converts two operands to their common dtype after to_floating.
std::pair<Tensor, Tensor> unified_reals(const Tensor& x1, const Tensor& x2, std::string_view who);
// Converts float16 and bfloat16 to float32, others like to_floating.
Tensor to_accumulator(const Tensor& x);

// Throws FailedPrecondition, naming the op, for an undefined tensor.
void require_defined(const Tensor& x, std::string_view who);

// ---- shapes with unknown axes ----

// Throws InvalidArgument, with advice, when an axis of a placeholder is unknown.
void require_static(const Tensor& x, std::string_view who);

// The shape without `axes` (sorted; replaced by 1s when `keepdims`).
Shape reduced_shape(const Shape& shape, std::span<const int64_t> axes, bool keepdims);

// ---- inference ----

using Types = std::vector<TensorType>;
using TypeSpan = std::span<const TensorType>;
using Gradients = std::vector<Tensor>;  // the result of a vjp: one per input

void require_inputs(TypeSpan inputs, size_t count, std::string_view op);
void require_floating(const TensorType& type, std::string_view op);
void require_index(const TensorType& type, std::string_view op);  // an integer dtype
void require_same_dtype(TypeSpan inputs, std::string_view op);
void require_shape(const TensorType& type, const Shape& shape, std::string_view op,
                   std::string_view what);
void require_rank(const TensorType& type, int64_t least, std::string_view op);
// Returns an axis attribute, which may have any value if it comes from a file, after checking it.
int64_t checked_axis(const Attributes& attributes, const Shape& shape, std::string_view op);
// The dtype for places among this many elements, and for counts of them: int32 where it holds them
// all, else int64.
DType index_dtype(int64_t elements);
// Requires that every size is known, and that their product is below 2^48, so that sizes from a
// file can't overflow.
void require_sizes(const Shape& shape, std::string_view op);

// "(2, -1)": text for indices, where a negative number doesn't mean unknown as in a shape.
std::string listed(std::span<const int64_t> numbers);

// ---- vjps ----

// The vjp of an op with one input and one output.
using UnaryVjp = Tensor (*)(const VjpContext&);
VjpFunction single(UnaryVjp vjp);

}  // namespace cornu::ops::internal
