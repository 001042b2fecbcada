// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/definition.h"

#include <limits>
#include <utility>

#include "framework/core/convert_number.h"
#include "framework/core/error_place.h"
#include "framework/ops/math.h"

namespace cornu::ops::internal {
namespace {

// Whether T can represent the number of a weak scalar.
template <class T>
bool holds(const Tensor& weak) {
  if (weak.dtype() == DType::UInt64) return std::in_range<T>(weak.item<uint64_t>());
  return std::in_range<T>(weak.item<int64_t>());
}

std::string number_of(const Tensor& weak) {
  return weak.dtype() == DType::UInt64 ? std::to_string(weak.item<uint64_t>())
                                       : std::to_string(weak.item<int64_t>());
}

// The dtype that a weak scalar takes when combined with a tensor of `other`.
DType dtype_beside(const Tensor& weak, DType other) {
  if (is_floating(other)) return other;
  if (is_floating(weak.dtype())) return DType::Float32;
  return other == DType::Bool ? weak.dtype() : other;
}

}  // namespace

const OpDef& find_op(std::string_view name) { return OpRegistry::global().at(name); }

Tensor typed_scalar(const Tensor& weak, DType dtype, std::string_view who) {
  if (weak.dtype() == dtype) return weak.strong();
  if (is_integer(dtype)) {
    const bool fits = dispatch_dtype(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return holds<T>(weak);
      return true;
    });
    check<InvalidArgument>(fits,
                           "{}: the number {} doesn't fit the tensor's dtype {}. Cast the tensor "
                           "first, for example with ops::cast(x, DType::Int64).",
                           who, number_of(weak), dtype);
  }
  return converted_scalar(weak, dtype);
}

Tensor converted_scalar(const Tensor& weak, DType dtype) {
  return dispatch_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return Tensor::scalar(is_floating(weak.dtype())
                                ? convert_number<double, T>(weak.item<double>())
                                : static_cast<T>(weak.item<int64_t>()));
    } else {
      return constant(weak.weak_value(), dtype);
    }
  });
}

Tensor constant(double value, DType dtype) {
  return dispatch_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_class_v<T>) {
      return Tensor::scalar(T(static_cast<float>(value)));
    } else {
      return Tensor::scalar(static_cast<T>(value));
    }
  });
}

void require_defined(const Tensor& x, std::string_view who) {
  check<FailedPrecondition>(x.defined(), "{}: expected a tensor, got an undefined one.", who);
}

std::pair<Tensor, Tensor> unify(const Tensor& x1, const Tensor& x2, std::string_view who) {
  const ErrorPlace scope(who);
  require_defined(x1, who);
  require_defined(x2, who);
  if (x1.is_weak() && !x2.is_weak()) {
    const DType dtype = dtype_beside(x1, x2.dtype());
    return {typed_scalar(x1, dtype, who), cast(x2, dtype)};
  }
  if (x2.is_weak() && !x1.is_weak()) {
    const DType dtype = dtype_beside(x2, x1.dtype());
    return {cast(x1, dtype), typed_scalar(x2, dtype, who)};
  }
  const DType dtype = promote(x1.dtype(), x2.dtype());
  if (x1.is_weak()) return {typed_scalar(x1, dtype, who), typed_scalar(x2, dtype, who)};
  return {cast(x1, dtype), cast(x2, dtype)};
}

Tensor to_floating(const Tensor& x) {
  // Strings are refused by the op that this is for, under its own name.
  if (is_floating(x.dtype()) || x.dtype() == DType::String) return x.strong();
  return cast(x, DType::Float32);
}

std::pair<Tensor, Tensor> unified_reals(const Tensor& x1, const Tensor& x2, std::string_view who) {
  const auto [a, b] = unify(x1, x2, who);
  return {to_floating(a), to_floating(b)};
}

Tensor to_accumulator(const Tensor& x) {
  return cast(x, promote(is_floating(x.dtype()) ? x.dtype() : DType::Float32, DType::Float32));
}

void require_static(const Tensor& x, std::string_view who) {
  require_defined(x, who);
  check<InvalidArgument>(x.shape().is_static(),
                         "{}: expected a tensor whose sizes are all known, got a placeholder of "
                         "shape {}. Call it within a layer (in its call method), where they are.",
                         who, x.shape());
}

Shape reduced_shape(const Shape& shape, std::span<const int64_t> axes, bool keepdims) {
  Shape result;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) {
      result.push_back(shape[axis]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

void require_inputs(TypeSpan inputs, size_t count, std::string_view op) {
  check<InvalidArgument>(inputs.size() == count, "{}: expected {} inputs, got {}.", op, count,
                         inputs.size());
}

void require_floating(const TensorType& type, std::string_view op) {
  check<InvalidArgument>(is_floating(type.dtype),
                         "{}: expected a floating-point tensor, got {} of shape {}. Cast it first, "
                         "for example with ops::cast(x, DType::Float32).",
                         op, type.dtype, type.shape);
}

void require_index(const TensorType& type, std::string_view op) {
  check<InvalidArgument>(is_integer(type.dtype),
                         "{}: expected indices of an integer dtype, got {} of shape {}. Cast them "
                         "first, for example with ops::cast(x, DType::Int32).",
                         op, type.dtype, type.shape);
}

void require_same_dtype(TypeSpan inputs, std::string_view op) {
  for (const TensorType& type : inputs) {
    check<InvalidArgument>(
        type.dtype == inputs[0].dtype,
        "{}: expected inputs of the same dtype, got {} and {}. Cast one of them.", op,
        inputs[0].dtype, type.dtype);
  }
}

void require_shape(const TensorType& type, const Shape& shape, std::string_view op,
                   std::string_view what) {
  check<InvalidArgument>(type.shape == shape, "{}: expected {} of shape {}, got {}.", op, what,
                         shape, type.shape);
}

void require_rank(const TensorType& type, int64_t least, std::string_view op) {
  check<InvalidArgument>(type.shape.rank() >= least,
                         "{}: expected a tensor of at least {} axes, got shape {}.", op, least,
                         type.shape);
}

int64_t checked_axis(const Attributes& attributes, const Shape& shape, std::string_view op) {
  const int64_t axis = attributes.get_int("axis");
  check<InvalidArgument>(axis >= 0 && axis < shape.rank(),
                         "{}: expected an axis in [0, {}) for shape {}, got {}.", op, shape.rank(),
                         shape, axis);
  return axis;
}

DType index_dtype(int64_t elements) {
  return elements <= std::numeric_limits<int32_t>::max() ? DType::Int32 : DType::Int64;
}

void require_sizes(const Shape& shape, std::string_view op) {
  constexpr int64_t kMax = int64_t{1} << 48;
  int64_t count = 1;
  bool valid = true;
  for (int64_t size : shape) {
    valid = valid && (size == 0 || count <= kMax / size);
    count = valid ? count * size : 1;
  }
  check<InvalidArgument>(shape.is_static(), "{}: expected a shape of known sizes, got {}.", op,
                         shape);
  check<InvalidArgument>(valid, "{}: expected a shape of at most 2^48 elements, got {}.", op,
                         shape);
}

std::string listed(std::span<const int64_t> numbers) {
  return fmt::format("({}{})", fmt::join(numbers, ", "), numbers.size() == 1 ? "," : "");
}

VjpFunction single(UnaryVjp vjp) {
  return [vjp](const VjpContext& context) { return std::vector<Tensor>{vjp(context)}; };
}

}  // namespace cornu::ops::internal
