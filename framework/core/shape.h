// SPDX-License-Identifier: Apache-2.0
// Shapes: the sizes of a tensor's axes.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cornu {

// An axis whose size isn't known until the model is called (Keras's None). Placeholders only.
inline constexpr int64_t kUnknown = -1;

// An ordered list of axis sizes, each >= 0 or kUnknown. A scalar's shape is empty.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  explicit Shape(std::span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  bool empty() const { return dims_.empty(); }  // a scalar's
  int64_t operator[](int64_t axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int64_t axis) { return dims_[static_cast<size_t>(axis)]; }
  int64_t front() const { return dims_.front(); }
  int64_t back() const { return dims_.back(); }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  const std::vector<int64_t>& dims() const { return dims_; }
  void push_back(int64_t dim) { dims_.push_back(dim); }

  bool is_static() const;        // no axis is kUnknown
  int64_t num_elements() const;  // product of the axes; 1 for a scalar. All axes must be known.

  // `axis` counted from the front, where negative values count from the back.
  // OutOfRange, naming `who`, when it is not in [-rank, rank).
  int64_t normalize_axis(int64_t axis, std::string_view who) const;

  Shape slice(int64_t begin, int64_t end) const;  // axes [begin, end)
  Shape slice(int64_t begin) const { return slice(begin, rank()); }
  Shape concat(const Shape& tail) const;

  // Python's tuple text, None for unknown axes: "(32, 784)", "(10,)", "()".
  std::string to_string() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<int64_t> dims_;
};

// A shape or None, for options: `.shape = {28, 28, 1}` reads as in Keras.
class OptionalShape : public std::optional<Shape> {
 public:
  using std::optional<Shape>::optional;
  OptionalShape() = default;
  OptionalShape(std::optional<Shape> shape) : std::optional<Shape>(std::move(shape)) {}  // NOLINT
  OptionalShape(std::initializer_list<int64_t> dims) : std::optional<Shape>(Shape(dims)) {}
};

// The shape two operands are broadcast to, by NumPy's rules (kUnknown broadcasts with anything).
// InvalidArgument, naming `who`, when they don't fit.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view who);

}  // namespace cornu

template <>
struct fmt::formatter<cornu::Shape> : fmt::formatter<std::string_view> {
  auto format(const cornu::Shape& shape, format_context& context) const {
    return fmt::formatter<std::string_view>::format(shape.to_string(), context);
  }
};
