// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

namespace cornu {

// A list or None, for options and arguments: `.axis = {1, 2}` reads as in Keras, and `{}` is None.
template <class T>
class OptionalList : public std::optional<std::vector<T>> {
 public:
  OptionalList() = default;
  OptionalList(std::nullopt_t) {}                               // NOLINT: implicit on purpose
  OptionalList(std::vector<T> list) : Base(std::move(list)) {}  // NOLINT
  OptionalList(std::optional<std::vector<T>> list) : Base(std::move(list)) {}  // NOLINT
  OptionalList(std::initializer_list<T> list) : Base(std::vector<T>(list)) {}

 private:
  using Base = std::optional<std::vector<T>>;
};

}  // namespace cornu
