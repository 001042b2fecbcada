// SPDX-License-Identifier: Apache-2.0
// The attributes of an operation: all of its parameters that aren't tensor operands.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

class Graph;

using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, DType,
                                    Tensor, std::shared_ptr<const Graph>>;

// A small list of named values, sorted by name.
class Attributes {
 public:
  using Entry = std::pair<std::string, AttributeValue>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries);

  // The getters throw InvalidArgument when the attribute is missing or has another type.
  bool get_bool(std::string_view name) const { return get<bool>(name); }
  int64_t get_int(std::string_view name) const { return get<int64_t>(name); }
  double get_double(std::string_view name) const { return get<double>(name); }
  const std::string& get_string(std::string_view name) const { return get<std::string>(name); }
  const std::vector<int64_t>& get_ints(std::string_view name) const {
    return get<std::vector<int64_t>>(name);
  }
  Shape get_shape(std::string_view name) const { return Shape(get_ints(name)); }
  DType get_dtype(std::string_view name) const { return get<DType>(name); }
  const Tensor& get_tensor(std::string_view name) const { return get<Tensor>(name); }
  const Graph& get_graph(std::string_view name) const {
    return *get<std::shared_ptr<const Graph>>(name);
  }

  const AttributeValue* find(std::string_view name) const;
  void set(std::string_view name, AttributeValue value);
  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }

  // Tensors compare by value, graphs by identity.
  friend bool operator==(const Attributes& a, const Attributes& b);
  size_t hash() const;

 private:
  template <class T>
  const T& get(std::string_view name) const {
    const AttributeValue* value = find(name);
    const T* typed = value ? std::get_if<T>(value) : nullptr;
    if (!typed) missing(name);
    return *typed;
  }
  [[noreturn]] void missing(std::string_view name) const;

  std::vector<Entry> entries_;
};

}  // namespace cornu
