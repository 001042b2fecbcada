// SPDX-License-Identifier: Apache-2.0
// One tensor or several, with names or without: what models take and give.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cornu/core/tensor.h"

namespace cornu {

// An ordered structure of tensors: a single one, a list, or named ones. Converts from each of them,
// so that `fit(x, y)`, `fit({{"image", image}, {"hint", hint}}, …)` and `fit({a, b}, …)` all read
// as in Keras. Empty stands for None.
class Tensors {
 public:
  using Named = std::pair<std::string, Tensor>;

  Tensors() = default;
  Tensors(const Tensor& tensor);                   // NOLINT: implicit on purpose
  Tensors(std::vector<Tensor> tensors);            // NOLINT
  Tensors(std::initializer_list<Tensor> tensors);  // NOLINT
  Tensors(std::initializer_list<Named> tensors);   // NOLINT
  static Tensors named(std::vector<Named> tensors);

  bool empty() const { return tensors_.empty(); }
  size_t size() const { return tensors_.size(); }
  bool has_names() const { return !names_.empty(); }
  const std::vector<std::string>& names() const { return names_; }  // empty without names
  const std::vector<Tensor>& list() const { return tensors_; }
  auto begin() const { return tensors_.begin(); }
  auto end() const { return tensors_.end(); }
  const Tensor& operator[](size_t index) const { return tensors_[index]; }
  // NotFound, with the nearest known name.
  const Tensor& at(std::string_view name) const;

  // The only tensor. InvalidArgument when there isn't exactly one.
  const Tensor& single() const;
  operator const Tensor&() const { return single(); }  // NOLINT
  const Shape& shape() const { return single().shape(); }
  DType dtype() const { return single().dtype(); }
  template <class T>
  std::span<const T> data() const {
    return single().data<T>();
  }

  // The same structure (names) around other tensors.
  Tensors with(std::vector<Tensor> tensors) const;

 private:
  std::vector<Tensor> tensors_;
  std::vector<std::string> names_;
};

}  // namespace cornu
