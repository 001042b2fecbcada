// SPDX-License-Identifier: Apache-2.0
#include "framework/core/shape.h"

#include <algorithm>

#include "framework/core/error.h"

namespace cornu {

bool Shape::is_static() const {
  return std::none_of(dims_.begin(), dims_.end(), [](int64_t dim) { return dim < 0; });
}

int64_t Shape::num_elements() const {
  int64_t product = 1;
  bool overflows = false;
  bool known = true;
  bool empty = false;
  for (int64_t dim : dims_) {
    known = known && dim >= 0;
    empty = empty || dim == 0;
    overflows = __builtin_mul_overflow(product, dim, &product) || overflows;
  }
  check<InvalidArgument>(known,
                         "Shape {}: expected sizes from 0 that are all known, to count elements. "
                         "Those of a placeholder are known within a layer's call.",
                         *this);
  if (empty) return 0;
  check<InvalidArgument>(!overflows, "Shape {} has more elements than can be counted.", *this);
  return product;
}

size_t Shape::num_bytes(size_t element_size) const {
  const auto count = static_cast<size_t>(num_elements());
  size_t bytes = 0;
  check<InvalidArgument>(!__builtin_mul_overflow(count, element_size, &bytes),
                         "Shape {} has more bytes than can be counted.", *this);
  return bytes;
}

void Shape::out_of_range(int64_t axis) const {
  raise<OutOfRange>("Shape {}: expected an axis in [{}, {}), got {}.", *this, -rank(), rank(),
                    axis);
}

int64_t Shape::normalize_axis(int64_t axis, std::string_view who) const {
  check<OutOfRange>(axis >= -rank() && axis < rank(),
                    "{}: expected an axis in [{}, {}) for shape {}, got {}.", who, -rank(), rank(),
                    *this, axis);
  return axis < 0 ? axis + rank() : axis;
}

Shape Shape::slice(int64_t begin, int64_t end) const {
  auto place = [this](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank() : axis, 0, rank());
  };
  const int64_t first = place(begin);
  return Shape(
      std::vector<int64_t>(dims_.begin() + first, dims_.begin() + std::max(first, place(end))));
}

Shape Shape::concat(const Shape& tail) const {
  std::vector<int64_t> dims = dims_;
  dims.insert(dims.end(), tail.begin(), tail.end());
  return Shape(std::move(dims));
}

std::string Shape::to_string() const {
  std::string text = "(";
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims_[i] == kUnknown ? "None" : std::to_string(dims_[i]);
  }
  return text + (dims_.size() == 1 ? ",)" : ")");
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view who) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const int64_t offset = longer.rank() - shorter.rank();
  for (int64_t i = 0; i < shorter.rank(); ++i) {
    const int64_t x = longer[offset + i];
    const int64_t y = shorter[i];
    check<InvalidArgument>(x == y || x == 1 || y == 1 || x == kUnknown || y == kUnknown,
                           "{}: expected shapes that can be broadcast together, got {} and {}. "
                           "Axes must be equal or 1, counted from the last.",
                           who, a, b);
    result[offset + i] = x == 1 ? y : (y == 1 || y == kUnknown ? x : (x == kUnknown ? y : x));
  }
  return result;
}

}  // namespace cornu
