// SPDX-License-Identifier: Apache-2.0
// Numbers in C++ containers nested to any depth: the arguments of Tensor::from. Internal to core.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "framework/core/dtype.h"
#include "framework/core/error.h"
#include "framework/core/shape.h"

namespace cornu::internal {

template <class T>
concept Number = std::is_arithmetic_v<T> || requires {
  DTypeOf<T>::value;
};

// Text is a leaf, not a container of characters.
template <class T>
concept Text = std::is_convertible_v<const T&, std::string_view>;

// The leaf type and nesting depth of a container, C array, number or text.
template <class T>
struct Nesting {
  using Leaf = T;
  static constexpr int kDepth = 0;
};
template <class T>
requires(!Text<T>) && requires(const T& values) {
  typename T::value_type;
  values.begin();
  values.size();
}
struct Nesting<T> {
  using Inner = Nesting<std::remove_cv_t<typename T::value_type>>;
  using Leaf = typename Inner::Leaf;
  static constexpr int kDepth = 1 + Inner::kDepth;
};
template <class T, size_t kSize>
struct Nesting<T[kSize]> {
  using Inner = Nesting<std::remove_cv_t<T>>;
  using Leaf = typename Inner::Leaf;
  static constexpr int kDepth = 1 + Inner::kDepth;
};

// Vectors, std::array, C arrays, spans, initializer lists, and any nesting of them.
template <class T>
concept NestedValues = Nesting<T>::kDepth >= 1 &&
                       (Number<typename Nesting<T>::Leaf> || Text<typename Nesting<T>::Leaf>);
template <class T>
concept FlatValues = NestedValues<T> && Nesting<T>::kDepth == 1;

// Appends the size of each axis to `shape`; inner axes are measured on their first element.
template <class R>
void append_sizes(const R& values, Shape& shape) {
  shape.push_back(static_cast<int64_t>(std::size(values)));
  if constexpr (Nesting<R>::kDepth > 1) {
    if (std::size(values) > 0) return append_sizes(*std::begin(values), shape);
    for (int depth = 1; depth < Nesting<R>::kDepth; ++depth) shape.push_back(0);
  }
}

// Writes the numbers to `out` in row-major order and returns the end of what was written. Throws
// InvalidArgument when sizes differ within axis `axis` of `shape`.
template <class To, class R>
To* copy_nested(const R& values, const Shape& shape, int64_t axis, To* out) {
  check<InvalidArgument>(static_cast<int64_t>(std::size(values)) == shape[axis],
                         "Tensor: expected lists of one length on axis {}, got {} and {} elements.",
                         axis, shape[axis], std::size(values));
  if constexpr (Nesting<R>::kDepth > 1) {
    for (const auto& inner : values) out = copy_nested(inner, shape, axis + 1, out);
    return out;
  } else if constexpr (std::same_as<To, typename Nesting<R>::Leaf>) {
    return std::copy(std::begin(values), std::end(values), out);
  } else {
    return std::transform(std::begin(values), std::end(values), out,
                          [](auto value) { return static_cast<To>(value); });
  }
}

}  // namespace cornu::internal
