// SPDX-License-Identifier: Apache-2.0
// The protocol buffer wire format (protobuf.dev/programming-guides/encoding), on little-endian
// machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "framework/core/error.h"

namespace cornu::wire {

enum class Type { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

// What is wrong with a message, and where in it. Callers that know what the message represents turn
// it into a DataLoss.
struct Damage {
  const char* what;
  const char* where;
};

// The fields of a message, one after another. Throws Damage.
class Reader {
 public:
  explicit Reader(std::string_view message)
      : at_(message.data()), end_(message.data() + message.size()) {}

  bool done() const { return at_ == end_; }
  const char* at() const { return at_; }

  uint64_t varint() {
    if (at_ != end_ && static_cast<unsigned char>(*at_) < 0x80) {
      return static_cast<unsigned char>(*at_++);
    }
    return long_varint();
  }

  // Reads the tag of the next field. Returns its number, and its type for varint(), fixed(),
  // bytes() or skip().
  uint32_t field(Type& type) {
    const char* start = at_;
    const uint64_t tag = varint();
    const auto kind = static_cast<uint32_t>(tag & 7);
    if (kind != 0 && kind != 1 && kind != 2 && kind != 5) throw Damage{"an unknown type", start};
    if (tag >> 3 == 0 || tag >> 32 != 0) throw Damage{"a field of no valid number", start};
    type = static_cast<Type>(kind);
    return static_cast<uint32_t>(tag >> 3);
  }

  // Returns the content of a field of Type::Bytes.
  std::string_view bytes() {
    const char* start = at_;
    const uint64_t length = varint();
    if (length > static_cast<uint64_t>(end_ - at_)) throw Damage{"a length beyond the end", start};
    const std::string_view result(at_, static_cast<size_t>(length));
    at_ += length;
    return result;
  }

  template <class T>
  T fixed() {
    if (end_ - at_ < static_cast<std::ptrdiff_t>(sizeof(T))) throw Damage{"a cut-off number", at_};
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  void skip(Type type) {
    switch (type) {
      case Type::Varint:
        varint();
        break;
      case Type::Fixed64:
        fixed<uint64_t>();
        break;
      case Type::Bytes:
        bytes();
        break;
      case Type::Fixed32:
        fixed<uint32_t>();
        break;
    }
  }

 private:
  uint64_t long_varint() {
    const char* start = at_;
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) throw Damage{"a cut-off number", start};
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    throw Damage{"a number of more than 10 bytes", start};
  }

  const char* at_;
  const char* end_;
};

inline void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline void put_tag(std::string& out, uint32_t field, Type type) {
  put_varint(out, uint64_t{field} << 3 | static_cast<uint32_t>(type));
}

// For int32, int64, bool and enumerations.
inline void put_int(std::string& out, uint32_t field, int64_t value) {
  put_tag(out, field, Type::Varint);
  put_varint(out, static_cast<uint64_t>(value));
}

inline void put_double(std::string& out, uint32_t field, double value) {
  put_tag(out, field, Type::Fixed64);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Also for strings and messages.
inline void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_tag(out, field, Type::Bytes);
  put_varint(out, bytes.size());
  out += bytes;
}

}  // namespace cornu::wire
