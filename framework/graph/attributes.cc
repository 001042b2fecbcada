// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/attributes.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace cornu {
namespace {

bool by_name(const Attributes::Entry& entry, std::string_view name) { return entry.first < name; }

size_t combine(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

size_t hash_of(const AttributeValue& value) {
  return std::visit(
      [](const auto& typed) -> size_t {
        using T = std::decay_t<decltype(typed)>;
        if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          size_t result = typed.size();
          for (int64_t element : typed) result = combine(result, std::hash<int64_t>()(element));
          return result;
        } else if constexpr (std::is_same_v<T, Tensor>) {
          const std::string_view bytes(reinterpret_cast<const char*>(typed.raw()), typed.bytes());
          return combine(static_cast<size_t>(typed.dtype()), std::hash<std::string_view>()(bytes));
        } else if constexpr (std::is_same_v<T, DType>) {
          return static_cast<size_t>(typed);
        } else {
          return std::hash<T>()(typed);
        }
      },
      value);
}

bool equal(const AttributeValue& a, const AttributeValue& b) {
  const auto* x = std::get_if<Tensor>(&a);
  const auto* y = std::get_if<Tensor>(&b);
  if (!x || !y) {
    return a.index() == b.index() && !x &&
           std::visit(
               [&](const auto& typed) {
                 using T = std::decay_t<decltype(typed)>;
                 if constexpr (std::is_same_v<T, Tensor>) {
                   return false;
                 } else if constexpr (std::is_same_v<T, double>) {  // NaN is NaN, -0 isn't 0
                   return std::bit_cast<uint64_t>(typed) ==
                          std::bit_cast<uint64_t>(std::get<double>(b));
                 } else {
                   return typed == std::get<T>(b);
                 }
               },
               a);
  }
  return x->id() == y->id() || (x->dtype() == y->dtype() && x->shape() == y->shape() &&
                                std::memcmp(x->raw(), y->raw(), x->bytes()) == 0);
}

}  // namespace

Attributes::Attributes(std::initializer_list<Entry> entries) : entries_(entries) {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.first < b.first; });
}

const AttributeValue* Attributes::find(std::string_view name) const {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), name, by_name);
  return it != entries_.end() && it->first == name ? &it->second : nullptr;
}

void Attributes::set(std::string_view name, AttributeValue value) {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), name, by_name);
  if (it != entries_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    entries_.emplace(it, std::string(name), std::move(value));
  }
}

void Attributes::missing(std::string_view name) const {
  raise<InvalidArgument>("Operation: its attribute '{}' is missing or of another type.", name);
}

bool operator==(const Attributes& a, const Attributes& b) {
  return std::equal(a.entries_.begin(), a.entries_.end(), b.entries_.begin(), b.entries_.end(),
                    [](const Attributes::Entry& x, const Attributes::Entry& y) {
                      return x.first == y.first && equal(x.second, y.second);
                    });
}

size_t Attributes::hash() const {
  size_t result = entries_.size();
  for (const auto& [name, value] : entries_) {
    result = combine(combine(result, std::hash<std::string>()(name)), hash_of(value));
  }
  return result;
}

}  // namespace cornu
