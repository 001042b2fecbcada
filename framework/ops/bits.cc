// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/bits.h"

#include <cmath>
#include <limits>

#include "framework/core/error_place.h"
#include "framework/ops/control.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/numeric.h"
#include "framework/ops/register.h"

namespace cornu::ops {

using namespace internal;

namespace {

Types infer_bitcast(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "bitcast");
  const DType from = inputs[0].dtype;
  const DType to = attributes.get_dtype("dtype");
  for (const DType dtype : {from, to}) {
    check<InvalidArgument>(dtype != DType::Bool && dtype != DType::String,
                           "view: expected dtypes of numbers, got {} to be seen as {}. Cast bools "
                           "instead, for example with ops::cast(x, DType::UInt8).",
                           from, to);
  }
  Shape shape = inputs[0].shape;
  if (size_of(from) == size_of(to)) return {{to, shape}};
  const auto old_size = static_cast<int64_t>(size_of(from));
  const auto new_size = static_cast<int64_t>(size_of(to));
  const bool whole = shape.rank() > 0 &&
                     shape[-1] <= std::numeric_limits<int64_t>::max() / old_size &&
                     shape[-1] * old_size % new_size == 0;
  check<InvalidArgument>(whole,
                         "view: expected a last axis whose bytes are a whole number of {}, got {} "
                         "of shape {}.",
                         to, from, shape);
  shape[shape.rank() - 1] = shape[-1] * old_size / new_size;
  return {{to, shape}};
}

// The neighboring number, for dtypes where the bits of neighbors differ by `step` as integers.
// `other` gives the direction.
Tensor stepped(const Tensor& x, const Tensor& other, double step) {
  const DType integers = x.dtype() == DType::Float64 ? DType::UInt64 : DType::UInt32;
  const Tensor bits = view(x, integers);
  const Tensor one = constant(step, integers);
  const Tensor sign = constant(x.dtype() == DType::Float64 ? 0x1p63 : 0x1p31, integers);
  // Without the sign bit, the bits grow with a number's distance from 0.
  const Tensor grows = logical_xor(other > x, x < 0);
  const Tensor beyond_zero = where(other > 0, one, sign + one);
  return view(where(x == 0, beyond_zero, where(grows, bits + one, bits - one)), x.dtype());
}

// The same for float16 numbers held in float32: from 2^-14 on, float16 neighbors are 2^13 float32
// steps apart, below that they are 2^-24 apart.
Tensor stepped_halves(const Tensor& x, const Tensor& other) {
  const Tensor up = other > x;
  const Tensor grows = logical_xor(up, x < 0);
  const Tensor small = logical_or(abs(x) < 0x1p-14, logical_and(abs(x) == 0x1p-14, !grows));
  return where(small, x + where(up, 0x1p-24, -0x1p-24), stepped(x, other, 0x1p13));
}

Tensor next_of(const Tensor& x1, const Tensor& x2) {
  const DType dtype = x1.dtype();
  const Tensor x = cast(x1, promote(dtype, DType::Float32));
  const Tensor other = cast(x2, x.dtype());
  const Tensor next = dtype == DType::Float16
                          ? stepped_halves(x, other)
                          : stepped(x, other, dtype == DType::BFloat16 ? 0x1p16 : 1);
  const Tensor moved = where(x == other, other, next);
  // The difference of neighbors is exact; the gradient goes to x only.
  const Tensor step = stop_gradient(moved - x);
  const Tensor found = where(isfinite(step), x + step, moved);
  return cast(where(logical_or(isnan(x), isnan(other)), std::nan(""), found), dtype);
}

}  // namespace

void register_bits(OpRegistry& registry) {
  registry.add(
      {.name = "bitcast", .infer = infer_bitcast, .vjp = {}, .traits = {.differentiable = false}});
}

Tensor view(const Tensor& x, std::optional<DTypeLike> dtype) {
  require_defined(x, "view");
  const DType to = dtype ? DType(*dtype) : x.dtype();
  return to == x.dtype() ? x.strong() : call<"bitcast">({x.strong()}, {{"dtype", to}});
}

Tensor nextafter(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("nextafter");
  const auto [a, b] = unify(x1, x2, "nextafter");
  return next_of(to_floating(a), stop_gradient(to_floating(b)));
}

}  // namespace cornu::ops
