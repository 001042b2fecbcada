// SPDX-License-Identifier: Apache-2.0
// One or more tensors, named or unnamed: the inputs and outputs of models.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

class Variable;

// An ordered structure of tensors: a single tensor, a list, or named tensors. Converts implicitly
// from each of them, so that `fit(x, y)`, `fit({{"image", image}, {"hint", hint}}, …)` and `fit({a,
// b}, …)` all read as in Keras. Empty represents None. A model's output can be used directly as its
// only tensor: `model(x).item<float>()`; throws InvalidArgument when there isn't exactly one.
class Tensors {
 public:
  using Named = std::pair<std::string, Tensor>;

  Tensors() = default;
  Tensors(const Tensor& tensor);                   // NOLINT: implicit on purpose
  Tensors(const Variable& variable);               // NOLINT: its value
  Tensors(std::vector<Tensor> tensors);            // NOLINT
  Tensors(std::initializer_list<Tensor> tensors);  // NOLINT
  Tensors(std::initializer_list<Named> tensors);   // NOLINT
  static Tensors named(std::vector<Named> tensors);

  bool empty() const { return tensors_.empty(); }
  size_t size() const { return tensors_.size(); }
  bool has_names() const { return !names_.empty(); }
  const std::vector<std::string>& names() const& { return names_; }  // empty without names
  std::vector<std::string> names() && { return std::move(names_); }
  const std::vector<Tensor>& list() const& { return tensors_; }
  std::vector<Tensor> list() && { return std::move(tensors_); }
  auto begin() const { return tensors_.begin(); }
  auto end() const { return tensors_.end(); }
  // Returns one of the tensors. Throws OutOfRange for an invalid index, and NotFound, with the
  // nearest known name, for an unknown name. To index into the only tensor, write `y(0)` or
  // `y.single()[0]`.
  const Tensor& operator[](size_t index) const&;
  Tensor operator[](size_t index) && { return std::as_const(*this)[index]; }
  const Tensor& operator[](std::string_view name) const& { return at(name); }
  Tensor operator[](std::string_view name) && { return std::as_const(*this).at(name); }
  const Tensor& at(std::string_view name) const&;
  Tensor at(std::string_view name) && { return std::as_const(*this).at(name); }
  // The tensor of this name; undefined (None) if there is none: for optional arguments.
  Tensor get(std::string_view name) const;
  const Tensor& at(size_t index) const& { return (*this)[index]; }
  Tensor at(size_t index) && { return std::as_const(*this)[index]; }

  // The only tensor.
  const Tensor& single() const&;
  Tensor single() && { return std::as_const(*this).single(); }
  operator Tensor() const { return single(); }  // NOLINT
  const Shape& shape() const& { return single().shape(); }
  Shape shape() && { return std::as_const(*this).shape(); }
  DType dtype() const { return single().dtype(); }
  int64_t rank() const { return single().rank(); }
  int64_t dim(int64_t axis) const { return single().dim(axis); }
  int64_t num_elements() const { return single().num_elements(); }
  Tensor mask() const { return single().mask(); }
  template <class T>
  T item() const {
    return single().item<T>();
  }
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) explicit operator T() const {
    return item<T>();
  }
  template <class T>
  std::span<const T> data() const& {
    return single().data<T>();
  }
  template <class T>
  TensorData<T> data() && {
    return Tensor(single()).data<T>();
  }
  template <class T>
  std::vector<T> to_vector() const {
    return single().to_vector<T>();
  }
  Tensor rows(int64_t begin, int64_t end) const { return single().rows(begin, end); }
  template <class... Indices>
  requires(sizeof...(Indices) > 0) Tensor operator()(const Indices&... indices) const {
    return single()(indices...);
  }

  // The same structure (names) with other tensors.
  Tensors with(std::vector<Tensor> tensors) const;

  // The only tensor's text, "[…, …]", or "{name: …, …}".
  std::string to_string() const;

 private:
  std::vector<Tensor> tensors_;
  std::vector<std::string> names_;
};

std::ostream& operator<<(std::ostream& out, const Tensors& tensors);

}  // namespace cornu

template <>
struct fmt::formatter<cornu::Tensors> : fmt::formatter<std::string_view> {
  auto format(const cornu::Tensors& tensors, format_context& context) const {
    return fmt::formatter<std::string_view>::format(tensors.to_string(), context);
  }
};
