// SPDX-License-Identifier: Apache-2.0
// The op calls of golden cases, by op name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/ops/ops.h"
#include "tests/golden/golden.h"

namespace cornu::test {

using List = std::vector<Tensor>;

// The inputs and arguments of a case.
struct Call {
  const List& in;
  const Json& arguments;

  const Json* find(const char* name) const {
    const Json* found = arguments.find(name);
    return found && !found->is_null() ? found : nullptr;
  }
  int64_t integer(const char* name, int64_t otherwise) const {
    return find(name) ? find(name)->as_int() : otherwise;
  }
  bool flag(const char* name, bool otherwise = false) const {
    return find(name) ? find(name)->as_bool() : otherwise;
  }
  double number(const char* name, double otherwise) const {
    return find(name) ? golden_number(*find(name)) : otherwise;
  }
  std::string text(const char* name, const std::string& otherwise) const {
    return find(name) ? find(name)->as_string() : otherwise;
  }
  std::vector<int64_t> integers(const char* name) const { return find(name)->as_ints(); }
  std::optional<int64_t> axis() const {
    return find("axis") ? std::optional(find("axis")->as_int()) : std::nullopt;
  }
  Axes axes(const char* name = "axis") const {
    if (!find(name)) return {};
    return find(name)->is_array() ? Axes(integers(name)) : Axes(find(name)->as_int());
  }
  std::optional<DType> dtype() const {
    return find("dtype") ? std::optional(dtype_from_string(text("dtype", ""))) : std::nullopt;
  }
};

using Op = std::function<List(const Call&)>;
using Table = std::map<std::string, Op, std::less<>>;

inline Op unary(Tensor (*f)(const Tensor&)) {
  return [f](const Call& c) { return List{f(c.in[0])}; };
}
inline Op binary(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Call& c) { return List{f(c.in[0], c.in[1])}; };
}
inline List both(const std::pair<Tensor, Tensor>& pair) { return {pair.first, pair.second}; }
inline Sizes sizes_of(const Call& c, const char* name, const Sizes& otherwise) {
  if (!c.find(name)) return otherwise;
  return c.find(name)->is_array() ? Sizes(c.integers(name)) : Sizes(c.integer(name, 0));
}

// Adds the ops of keras.ops.image.
void add_image_ops(Table& table);

}  // namespace cornu::test
