// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/example.h"
#include "framework/core/proto_wire.h"

namespace cornu::data {
namespace {

bool has_large(const Tensor& numbers) {
  const auto values = numbers.data<uint64_t>();
  return std::any_of(values.begin(), values.end(), [](uint64_t value) { return value >> 63 != 0; });
}

// A tf.train.Feature.
std::string feature_of(const std::string& name, const Tensor& values) {
  check<InvalidArgument>(values.defined() && !values.is_symbolic(),
                         "Example: the feature '{}' was expected to have values, got {}.", name,
                         values.to_string());
  const Tensor host = values.host();
  std::string list;
  uint32_t kind = 1;
  if (host.dtype() == DType::String) {
    for (const std::string& text : host.data<std::string>()) wire::put_bytes(list, 1, text);
  } else {
    std::string packed;
    dispatch_dtype(host.dtype(), [&](auto t) {
      using T = decltype(t);
      kind = std::is_integral_v<T> ? 3 : 2;
      for (const T value : host.data<T>()) {
        if constexpr (std::is_integral_v<T>) {
          wire::put_varint(packed, static_cast<uint64_t>(static_cast<int64_t>(value)));
        } else {
          const auto number = static_cast<float>(value);
          packed.append(reinterpret_cast<const char*>(&number), sizeof(number));
        }
      }
    });
    check<InvalidArgument>(host.dtype() != DType::UInt64 || !has_large(host),
                           "Example: the feature '{}' has numbers that int64 hasn't.", name);
    if (!packed.empty()) wire::put_bytes(list, 1, packed);
  }
  std::string feature;
  wire::put_bytes(feature, kind, list);
  return feature;
}

void put_entry(std::string& map, const std::string& name, const std::string& message) {
  std::string entry;
  wire::put_bytes(entry, 1, name);
  wire::put_bytes(entry, 2, message);
  wire::put_bytes(map, 1, entry);
}

template <class Value>
void set_member(std::vector<std::pair<std::string, Value>>& members, const std::string& name,
                Value value) {
  for (auto& member : members) {
    if (member.first == name) {
      member.second = std::move(value);
      return;
    }
  }
  members.emplace_back(name, std::move(value));
}

std::string features_of(const std::vector<std::pair<std::string, Tensor>>& features) {
  std::string map;
  for (const auto& [name, values] : features) put_entry(map, name, feature_of(name, values));
  return map;
}

}  // namespace

Example::Example(std::initializer_list<Named> features) {
  for (const auto& [name, values] : features) set(name, values);
}

Example& Example::set(const std::string& name, const Tensor& values) {
  set_member(features_, name, values);
  return *this;
}

std::string Example::serialize() const {
  std::string bytes;
  wire::put_bytes(bytes, 1, features_of(features_));
  return bytes;
}

SequenceExample& SequenceExample::set_context(const std::string& name, const Tensor& values) {
  set_member(context_, name, values);
  return *this;
}

SequenceExample& SequenceExample::set_list(const std::string& name,
                                           const std::vector<Tensor>& steps) {
  set_member(lists_, name, steps);
  return *this;
}

std::string SequenceExample::serialize() const {
  std::string bytes;
  if (!context_.empty()) wire::put_bytes(bytes, 1, features_of(context_));
  std::string map;
  for (const auto& [name, steps] : lists_) {
    std::string list;
    for (const Tensor& step : steps) wire::put_bytes(list, 1, feature_of(name, step));
    put_entry(map, name, list);
  }
  if (!lists_.empty()) wire::put_bytes(bytes, 2, map);
  return bytes;
}

}  // namespace cornu::data
