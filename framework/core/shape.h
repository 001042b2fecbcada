// SPDX-License-Identifier: Apache-2.0
// Shapes: the sizes of a tensor's axes.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cornu {

// The size of an axis that isn't known until the model is called (Keras's None). Placeholders only.
inline constexpr int64_t kUnknown = -1;

// An ordered list of axis sizes, each >= 0 or kUnknown. A scalar's shape is empty.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  explicit Shape(std::span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  bool empty() const { return dims_.empty(); }  // true for a scalar's shape
  // Negative axes count from the end. Throws OutOfRange for an axis that the shape doesn't have.
  int64_t operator[](int64_t axis) const { return dims_[place(axis)]; }
  int64_t& operator[](int64_t axis) { return dims_[place(axis)]; }
  int64_t front() const { return dims_[place(0)]; }
  int64_t back() const { return dims_[place(-1)]; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  const std::vector<int64_t>& dims() const { return dims_; }
  void push_back(int64_t dim) { dims_.push_back(dim); }

  bool is_static() const;  // no axis is kUnknown
  // The product of all axes, 1 for a scalar. Throws InvalidArgument when an axis is unknown (or
  // negative), or when the product doesn't fit in 63 bits.
  int64_t num_elements() const;
  // num_elements() times `element_size`. Throws under the same conditions.
  size_t num_bytes(size_t element_size) const;

  // Returns `axis` counted from the front; negative values count from the back. Throws OutOfRange,
  // naming `who`, when it isn't in [-rank, rank).
  int64_t normalize_axis(int64_t axis, std::string_view who) const;

  // Axes [begin, end), as in Python slicing: negative values count from the back, and out-of-range
  // parts are ignored.
  Shape slice(int64_t begin, int64_t end) const;
  Shape slice(int64_t begin) const { return slice(begin, rank()); }
  Shape concat(const Shape& tail) const;

  // The text of a Python tuple, with None for unknown axes: "(32, 784)", "(10,)", "()".
  std::string to_string() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  size_t place(int64_t axis) const {
    const auto size = static_cast<int64_t>(dims_.size());
    const int64_t from_front = axis < 0 ? axis + size : axis;
    if (static_cast<uint64_t>(from_front) >= static_cast<uint64_t>(size)) [[unlikely]]
      out_of_range(axis);
    return static_cast<size_t>(from_front);
  }
  [[noreturn]] void out_of_range(int64_t axis) const;

  std::vector<int64_t> dims_;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape);

// A shape or None, for options: `.shape = {28, 28, 1}` reads as in Keras.
class OptionalShape : public std::optional<Shape> {
 public:
  using std::optional<Shape>::optional;
  OptionalShape() = default;
  OptionalShape(std::optional<Shape> shape) : std::optional<Shape>(std::move(shape)) {}  // NOLINT
  OptionalShape(std::initializer_list<int64_t> dims) : std::optional<Shape>(Shape(dims)) {}
};

// Returns the shape that two operands are broadcast to, by NumPy's rules (kUnknown broadcasts with
// anything). Throws InvalidArgument, naming `who`, when they aren't compatible.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view who);

}  // namespace cornu

template <>
struct fmt::formatter<cornu::Shape> : fmt::formatter<std::string_view> {
  auto format(const cornu::Shape& shape, format_context& context) const {
    return fmt::formatter<std::string_view>::format(shape.to_string(), context);
  }
};
