// SPDX-License-Identifier: Apache-2.0
// Datatypes, dataspaces, attributes and layouts.
#include <array>

#include "framework/core/error.h"
#include "framework/saving/hdf5_object.h"

namespace cornu::hdf5 {
namespace {

constexpr std::string_view kType = "a datatype";
constexpr std::string_view kSpace = "a dataspace";
constexpr std::string_view kAttribute = "an attribute";
constexpr std::string_view kLayout = "a dataset's layout";
constexpr std::string_view kStringHeap = "a heap of strings";
constexpr uint8_t kMostRank = 32;

// "sign 31, exponent 23 + 8, fraction 0 + 23, bias 127"
std::string float_form(int sign, int exponent_at, int exponent, int fraction_at, int fraction,
                       uint32_t bias) {
  return fmt::format("sign {}, exponent {} + {}, fraction {} + {}, bias {}", sign, exponent_at,
                     exponent, fraction_at, fraction, bias);
}

void read_integer(Cursor& cursor, uint32_t bits, Datatype& type) {
  type.big_endian = bits & 1;
  type.is_signed = bits & 8;
  const uint16_t offset = cursor.u16();
  const uint16_t precision = cursor.u16();
  check<Unimplemented>(offset == 0 && precision == type.size * 8,
                       "integers of {} bits in {} bytes can't be read.", precision, type.size);
}

void read_float(Cursor& cursor, uint32_t bits, Datatype& type) {
  type.big_endian = bits & 1;
  check<Unimplemented>((bits & 0x40) == 0, "floats in VAX order can't be read.");
  cursor.skip(4);  // offset and precision
  const uint8_t exponent_at = cursor.u8();
  const uint8_t exponent = cursor.u8();
  const uint8_t fraction_at = cursor.u8();
  const uint8_t fraction = cursor.u8();
  type.form = float_form(static_cast<int>(bits >> 8 & 255), exponent_at, exponent, fraction_at,
                         fraction, cursor.u32());
}

// h5py's bool: FALSE = 0 and TRUE = 1, of one byte.
void read_enum(Cursor& cursor, uint8_t version, uint32_t bits, Datatype& type) {
  const Datatype base = read_datatype(cursor);
  const auto members = static_cast<uint16_t>(bits & 0xFFFF);
  if (base.type_class != TypeClass::Integer || base.size != 1 || members != 2) return;
  std::array<std::string, 2> names;
  for (std::string& name : names) {
    const size_t begin = cursor.position();
    name = cursor.text_to_zero();
    if (version < 3) cursor.skip((8 - (cursor.position() - begin) % 8) % 8);
  }
  const uint8_t first = cursor.u8();
  const uint8_t second = cursor.u8();
  type.is_bool = names[0] == "FALSE" && names[1] == "TRUE" && first == 0 && second == 1;
}

}  // namespace

std::string Datatype::to_string() const {
  switch (type_class) {
    case TypeClass::Integer:
      return fmt::format("{}{}{}", big_endian ? "big-endian " : "", is_signed ? "int" : "uint",
                         size * 8);
    case TypeClass::Float:
      return fmt::format("{}float of {} bytes ({})", big_endian ? "big-endian " : "", size, form);
    case TypeClass::String:
      return fmt::format("string of {} bytes", size);
    case TypeClass::Opaque:
      return fmt::format("{} opaque bytes", size);
    case TypeClass::Enum:
      return is_bool ? "bool" : fmt::format("enumeration of {} bytes", size);
    case TypeClass::VariableLength:
      return is_text ? "string" : "list";
  }
  return fmt::format("datatype of class {}", static_cast<int>(type_class));
}

Datatype read_datatype(Cursor& cursor) {
  const uint8_t head = cursor.u8();
  const auto bits = static_cast<uint32_t>(cursor.number(3));
  const auto version = static_cast<uint8_t>(head >> 4);
  Datatype type;
  type.type_class = static_cast<TypeClass>(head & 15);
  type.size = cursor.u32();
  check<DataLoss>(version >= 1 && type.size > 0, "{} is damaged.", kType);
  switch (type.type_class) {
    case TypeClass::Integer:
      read_integer(cursor, bits, type);
      break;
    case TypeClass::Float:
      read_float(cursor, bits, type);
      break;
    case TypeClass::Enum:
      read_enum(cursor, version, bits, type);
      break;
    case TypeClass::VariableLength:
      type.is_text = (bits & 15) == 1;
      break;
    case TypeClass::String:
    case TypeClass::Opaque:
      break;
  }
  return type;
}

Shape read_dataspace(Cursor& cursor) {
  const uint8_t version = cursor.version(1, 2);
  const uint8_t rank = cursor.u8();
  check<DataLoss>(rank <= kMostRank, "{} has {} axes.", kSpace, rank);
  cursor.skip(1);
  const uint8_t kind = cursor.u8();
  check<Unimplemented>(version == 1 || kind <= 1, "{} is empty.", kSpace);
  if (version == 1) cursor.skip(4);
  std::vector<int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) {
    const uint64_t dim = cursor.u64();
    check<DataLoss>(dim <= uint64_t{INT64_MAX}, "{} has an axis of {} elements.", kSpace, dim);
    dims.push_back(static_cast<int64_t>(dim));
  }
  return Shape(std::move(dims));
}

std::optional<Attribute> read_attribute(const Message& message, const std::string& name) {
  check<Unimplemented>(!message.shared, "{} is stored elsewhere, which can't be read.", kAttribute);
  Cursor cursor(message.data, kAttribute);
  const uint8_t version = cursor.version(1, 3);
  const uint8_t flags = cursor.u8();
  check<Unimplemented>(version == 1 || flags == 0, "{} has a shared type, which can't be read.",
                       kAttribute);
  const uint16_t name_size = cursor.u16();
  const uint16_t type_size = cursor.u16();
  const uint16_t space_size = cursor.u16();
  if (version == 3) cursor.skip(1);  // character set
  const auto part = [&](uint16_t size) {
    const auto bytes = cursor.take(size);
    if (version == 1) cursor.skip((8 - size % 8) % 8);
    return bytes;
  };
  Cursor stored_name(part(name_size), kAttribute);
  if (stored_name.text_to_zero() != name) return std::nullopt;
  Cursor type(part(type_size), kAttribute);
  Cursor space(part(space_size), kAttribute);
  Attribute attribute;
  attribute.type = read_datatype(type);
  attribute.shape = read_dataspace(space);
  const auto data = cursor.take(cursor.left());
  attribute.data.assign(data.begin(), data.end());
  return attribute;
}

std::string read_heap_string(const Bytes& file, std::span<const std::byte> element) {
  Cursor reference(element, kStringHeap);
  const uint32_t size = reference.u32();
  const uint64_t address = reference.u64();
  const uint32_t wanted = reference.u32();
  if (size == 0) return {};
  constexpr uint64_t kHeadSize = 16;
  const auto head_bytes = file.block(address, kHeadSize, kStringHeap);
  Cursor head(head_bytes, kStringHeap);
  head.expect("GCOL");
  head.version(1, 1);
  head.skip(3);
  const auto heap = file.block(address, head.u64(), kStringHeap);
  Cursor cursor(heap, kStringHeap);
  cursor.skip(kHeadSize);
  while (cursor.left() >= kHeadSize) {
    const uint16_t index = cursor.u16();
    cursor.skip(6);  // reference count, reserved
    const uint64_t object_size = cursor.u64();
    check<DataLoss>(index != 0, "{} doesn't have the string that is looked for.", kStringHeap);
    if (index == wanted) {
      check<DataLoss>(size <= object_size, "{} has a string that is too short.", kStringHeap);
      return cursor.text(size);
    }
    cursor.skip(object_size);
    cursor.align(8);
  }
  raise<DataLoss>("{} doesn't have the string that is looked for.", kStringHeap);
}

Layout read_layout(const Object& dataset) {
  Cursor cursor(dataset.at(MessageType::Layout, kLayout).data, kLayout);
  cursor.version(3, 4);
  const uint8_t kind = cursor.u8();
  check<Unimplemented>(kind <= 1,
                       "it is stored in {}; only plain datasets can be read. h5repack -l CONTI "
                       "(-f NONE) rewrites the file so.",
                       kind == 2 ? "chunks, maybe compressed" : "other datasets");
  Layout layout;
  layout.is_compact = kind == 0;
  if (layout.is_compact) {
    layout.size = cursor.u16();
    const auto data = cursor.take(layout.size);
    layout.compact.assign(data.begin(), data.end());
  } else {
    layout.address = cursor.u64();
    layout.size = cursor.u64();
  }
  return layout;
}

DType to_dtype(const Datatype& type, const std::string& named) {
  struct FloatForm {
    DType dtype;
    uint32_t size;
    std::string form;
  };
  static const std::array<FloatForm, 4> kFloats = {{
      {DType::Float16, 2, float_form(15, 10, 5, 0, 10, 15)},
      {DType::BFloat16, 2, float_form(15, 7, 8, 0, 7, 127)},
      {DType::Float32, 4, float_form(31, 23, 8, 0, 23, 127)},
      {DType::Float64, 8, float_form(63, 52, 11, 0, 52, 1023)},
  }};
  static constexpr std::array kIntegers = {DType::UInt8, DType::Int8,   DType::Int32,
                                           DType::Int64, DType::UInt32, DType::UInt64};
  if (type.type_class == TypeClass::Opaque && type.size == 2 && named == "bfloat16") {
    return DType::BFloat16;
  }
  if (type.is_bool) return DType::Bool;
  if (type.type_class == TypeClass::Float && !type.big_endian) {
    for (const FloatForm& known : kFloats) {
      if (type.size == known.size && type.form == known.form) return known.dtype;
    }
  }
  if (type.type_class == TypeClass::Integer && (!type.big_endian || type.size == 1)) {
    for (const DType dtype : kIntegers) {
      if (type.size == size_of(dtype) && type.is_signed == is_signed(dtype)) return dtype;
    }
  }
  raise<Unimplemented>("its elements are of a type that can't be read: {}.", type.to_string());
}

}  // namespace cornu::hdf5
