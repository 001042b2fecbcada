// SPDX-License-Identifier: Apache-2.0
// NumPy's indexing of tensors: x[0], x(0, Slice(1, 3)), x(ellipsis, newaxis), x[x > 0].
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

// Python's slice(stop), slice(start, stop, step); None (std::nullopt) means up to the end.
// `Slice()` is the whole axis, `Slice({}, {}, -1)` its reverse. Negative positions count from the
// end; positions outside of the axis are ignored.
struct Slice {
  using Place = std::optional<int64_t>;

  Slice() = default;
  explicit Slice(Place stop_place) : stop(stop_place) {}
  Slice(Place start_place, Place stop_place, int64_t step_size = 1)
      : start(start_place), stop(stop_place), step(step_size) {}

  Place start;
  Place stop;
  int64_t step = 1;  // not 0
};

struct Ellipsis {};
struct NewAxis {};
inline constexpr Ellipsis ellipsis;  // as many whole axes as remain
inline constexpr NewAxis newaxis;    // an axis of size 1

// An index as in NumPy's brackets: a number, a Slice, ellipsis, newaxis, a tensor of numbers, or a
// bool tensor that selects where it is true.
class Index {
 public:
  template <std::integral T>
  requires(!std::is_same_v<T, bool>) Index(T number)  // NOLINT: implicit on purpose
      : value_(static_cast<int64_t>(number)) {}
  Index(Slice slice) : value_(slice) {}     // NOLINT
  Index(Ellipsis value) : value_(value) {}  // NOLINT
  Index(NewAxis value) : value_(value) {}   // NOLINT
  Index(Tensor tensor) : value_(tensor) {}  // NOLINT

  const int64_t* number() const { return std::get_if<int64_t>(&value_); }
  const Slice* slice() const { return std::get_if<Slice>(&value_); }
  const Tensor* tensor() const { return std::get_if<Tensor>(&value_); }
  bool is_ellipsis() const { return std::holds_alternative<Ellipsis>(value_); }
  bool is_newaxis() const { return std::holds_alternative<NewAxis>(value_); }

 private:
  std::variant<int64_t, Slice, Ellipsis, NewAxis, Tensor> value_;
};

namespace ops {

// x[key], as in NumPy: differentiable, traced, and also on placeholders (parts that depend on an
// unknown axis size throw InvalidArgument). Several tensors of numbers broadcast together. The size
// of a mask's selection depends on its values, so a mask without a value (in traced code, or on a
// placeholder) throws FailedPrecondition. Throws OutOfRange for a number that the axis doesn't
// have, and for too many indices.
Tensor get_item(const Tensor& x, const std::vector<Index>& key);

}  // namespace ops
}  // namespace cornu
