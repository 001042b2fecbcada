// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/hdf5_elements.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "framework/core/error.h"

namespace cornu::hdf5 {
namespace {

// Half-precision values are converted via float.
template <class T>
auto number_of(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

template <class From, class To>
bool converted(From from, To& to) {
  const auto value = number_of(from);
  using Number = std::remove_const_t<decltype(value)>;
  if constexpr (!std::is_integral_v<To>) {
    if constexpr (std::is_arithmetic_v<To>) {
      to = static_cast<To>(value);
    } else {
      to = To(static_cast<float>(value));
    }
    return true;
  } else if constexpr (std::is_same_v<To, bool>) {
    to = value != 0;
    return value == 0 || value == 1;
  } else if constexpr (std::is_same_v<Number, bool>) {
    to = value;
    return true;
  } else if constexpr (std::is_integral_v<Number>) {
    if (!std::in_range<To>(value)) return false;
    to = static_cast<To>(value);
    return true;
  } else {
    // The limits are powers of two except for the maximum, which is one less; so they are
    // representable as floats.
    const double wide = static_cast<double>(value);
    const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
    const double begin = std::is_signed_v<To> ? -end : 0.0;
    if (!(wide >= begin && wide < end && wide == std::trunc(wide))) return false;
    to = static_cast<To>(wide);
    return true;
  }
}

template <class From, class To>
void convert_elements(const Tensor& from, Tensor& to) {
  const auto source = from.data<From>();
  const auto target = to.mutable_data<To>();
  for (size_t i = 0; i < source.size(); ++i) {
    To value{};
    check<InvalidArgument>(converted<From, To>(source[i], value),
                           "element {} is {}, which isn't {}.", i, number_of(source[i]),
                           to.dtype());
    target[i] = value;
  }
}

}  // namespace

void swap_bytes(Tensor& tensor) {
  const size_t size = size_of(tensor.dtype());
  std::byte* at = tensor.mutable_raw();
  for (std::byte* end = at + tensor.bytes(); at != end; at += size) std::reverse(at, at + size);
}

void verify_bools(const Tensor& tensor) {
  const std::byte* bytes = tensor.raw();
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    check<DataLoss>(bytes[i] <= std::byte{1}, "element {} is no bool: {}.", i,
                    static_cast<int>(bytes[i]));
  }
}

bool always_converts(DType from, DType to) { return from == to || is_floating(to); }

Tensor convert(const Tensor& stored, DType dtype) {
  if (stored.dtype() == dtype) return stored;
  Tensor result = Tensor::empty(stored.shape(), dtype);
  dispatch_dtype(stored.dtype(), [&](auto from) {
    dispatch_dtype(
        dtype, [&](auto to) { convert_elements<decltype(from), decltype(to)>(stored, result); });
  });
  return result;
}

}  // namespace cornu::hdf5
