// SPDX-License-Identifier: Apache-2.0
// Types of layer options that take one number or several: `.kernel_size = 3`,
// `.kernel_size = {3, 5}`.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/core/shape.h"

namespace cornu::layers {

// One number for each of kAxes spatial axes, or one for all of them. Empty: None.
template <int kAxes>
class Size {
 public:
  Size() = default;
  template <std::integral T>
  Size(T all) : values_(kAxes, static_cast<int64_t>(all)) {}  // NOLINT: implicit on purpose
  Size(int64_t a, int64_t b) requires(kAxes == 2) : values_{a, b} {}
  Size(int64_t a, int64_t b, int64_t c) requires(kAxes == 3) : values_{a, b, c} {}

  bool given() const { return !values_.empty(); }
  const std::vector<int64_t>& values() const { return values_; }
  // Throws InvalidArgument for None.
  int64_t operator[](int axis) const {
    check<InvalidArgument>(given(), "expected a size of {} integers, got none.", kAxes);
    return values_[static_cast<size_t>(axis)];
  }
  // Returns this size, or `otherwise` for None.
  Size value_or(const Size& otherwise) const { return given() ? *this : otherwise; }

  // Reads an array of kAxes integers, an integer for all axes, or null. Throws InvalidArgument
  // otherwise.
  static Size from_json(const Json& json);

 private:
  std::vector<int64_t> values_;
};
using Size1 = Size<1>;
using Size2 = Size<2>;
using Size3 = Size<3>;

// Amounts of padding or cropping before and after an axis.
struct Margin {
  int64_t before = 0;
  int64_t after = 0;
};

// Margins of height and width: one number for all four sides, {height, width} for symmetric
// margins, or {{top, bottom}, {left, right}}.
class Margins2 {
 public:
  template <std::integral T>
  Margins2(T all) : Margins2(static_cast<int64_t>(all), static_cast<int64_t>(all)) {}  // NOLINT
  Margins2(int64_t height, int64_t width) : height_{height, height}, width_{width, width} {}
  Margins2(Margin height, Margin width) : height_(height), width_(width) {}

  const Margin& height() const { return height_; }
  const Margin& width() const { return width_; }

  static Margins2 from_json(const Json& json);

 private:
  Margin height_;
  Margin width_;
};

// Margins of three spatial axes: one number for all, one per axis, or {before, after} per axis.
class Margins3 {
 public:
  template <std::integral T>
  Margins3(T all)  // NOLINT: implicit on purpose
      : Margins3(static_cast<int64_t>(all), static_cast<int64_t>(all), static_cast<int64_t>(all)) {}
  Margins3(int64_t a, int64_t b, int64_t c) : axes_{{a, a}, {b, b}, {c, c}} {}
  Margins3(Margin a, Margin b, Margin c) : axes_{a, b, c} {}

  const std::vector<Margin>& axes() const { return axes_; }

  static Margins3 from_json(const Json& json);

 private:
  std::vector<Margin> axes_;
};

// A number or a list of numbers; configs distinguish the two. Empty: None.
template <class T>
class OneOrMany {
 public:
  OneOrMany() = default;
  template <class U>
  requires(std::is_integral_v<U> || (std::is_floating_point_v<U> && std::is_floating_point_v<T>))
      OneOrMany(U value)  // NOLINT: implicit on purpose
      : values_{static_cast<T>(value)}, kind_(Kind::One) {}
  OneOrMany(std::initializer_list<T> values) : values_(values), kind_(Kind::Many) {}
  OneOrMany(std::vector<T> values) : values_(std::move(values)), kind_(Kind::Many) {}  // NOLINT

  bool given() const { return kind_ != Kind::None; }
  bool is_one() const { return kind_ == Kind::One; }
  const std::vector<T>& values() const { return values_; }

  static OneOrMany from_json(const Json& json);
  Json to_json() const;

 private:
  enum class Kind { None, One, Many };
  std::vector<T> values_;
  Kind kind_ = Kind::None;
};
using AxisList = OneOrMany<int64_t>;

// The sizes of an output's axes excluding the batch: one number or several, where kUnknown (Keras's
// None) means the input's size.
class PartialShape : public OneOrMany<int64_t> {
 public:
  using OneOrMany::OneOrMany;
  // Reads an integer, or an array of integers and nulls. Throws InvalidArgument otherwise.
  static PartialShape from_json(const Json& json);
  Json to_json() const;
};
using NumberList = OneOrMany<double>;

}  // namespace cornu::layers
