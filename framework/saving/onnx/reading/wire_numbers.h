// SPDX-License-Identifier: Apache-2.0
// Reads protocol buffer fields of the expected types. All functions throw wire::Damage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/proto_wire.h"

namespace cornu::onnx::reading {

inline void require_type(const wire::Reader& reader, wire::Type type, wire::Type wanted) {
  if (type != wanted) throw wire::Damage{"a field of another type", reader.at()};
}

inline uint64_t number(wire::Reader& reader, wire::Type type) {
  require_type(reader, type, wire::Type::Varint);
  return reader.varint();
}

inline std::string_view bytes(wire::Reader& reader, wire::Type type) {
  require_type(reader, type, wire::Type::Bytes);
  return reader.bytes();
}

// A single value of a repeated field, or several packed ones.
inline std::vector<uint64_t> varints(wire::Reader& reader, wire::Type type) {
  if (type == wire::Type::Varint) return {reader.varint()};
  std::vector<uint64_t> result;
  wire::Reader packed(bytes(reader, type));
  while (!packed.done()) result.push_back(packed.varint());
  return result;
}

// Interprets fields as T, which has 4 or 8 bytes.
template <class T, class To>
void append_fixed(wire::Reader& reader, wire::Type type, std::vector<To>& to) {
  constexpr wire::Type kFixed = sizeof(T) == 4 ? wire::Type::Fixed32 : wire::Type::Fixed64;
  if (type == kFixed) {
    to.push_back(static_cast<To>(reader.fixed<T>()));
    return;
  }
  wire::Reader packed(bytes(reader, type));
  while (!packed.done()) to.push_back(static_cast<To>(packed.fixed<T>()));
}

// Calls read(field, reader, type) for each field of a message. If it returns false, the field is
// skipped.
template <class F>
void each_field(std::string_view message, F&& read) {
  wire::Reader reader(message);
  while (!reader.done()) {
    wire::Type type;
    const uint32_t field = reader.field(type);
    if (!read(field, reader, type)) reader.skip(type);
  }
}

// A StringStringEntryProto.
inline std::pair<std::string, std::string> text_entry(std::string_view message) {
  std::pair<std::string, std::string> entry;
  each_field(message, [&](uint32_t field, wire::Reader& reader, wire::Type type) {
    if (field == 1) entry.first = std::string(bytes(reader, type));
    if (field == 2) entry.second = std::string(bytes(reader, type));
    return field <= 2;
  });
  return entry;
}

}  // namespace cornu::onnx::reading
