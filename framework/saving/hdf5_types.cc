// SPDX-License-Identifier: Apache-2.0
// Datatypes, dataspaces and layouts.
#include <array>

#include "framework/core/error.h"
#include "framework/saving/hdf5_object.h"

namespace cornu::hdf5 {
namespace {

constexpr std::string_view kType = "a datatype";
constexpr std::string_view kSpace = "a dataspace";
constexpr std::string_view kLayout = "a dataset's layout";
constexpr uint8_t kMaxRank = 32;

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

// h5py's bool: FALSE = 0 and TRUE = 1, one byte wide.
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

Dataspace read_dataspace(Cursor& cursor) {
  const uint8_t version = cursor.version(1, 2);
  const uint8_t rank = cursor.u8();
  check<DataLoss>(rank <= kMaxRank, "{} has {} axes.", kSpace, rank);
  const bool may_grow = cursor.u8() & 1;
  const uint8_t kind = cursor.u8();
  check<Unimplemented>(version == 1 || kind <= 1, "{} is empty.", kSpace);
  if (version == 1) cursor.skip(4);
  std::vector<int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) {
    const uint64_t dim = cursor.u64();
    check<DataLoss>(dim <= uint64_t{INT64_MAX}, "{} has an axis of {} elements.", kSpace, dim);
    dims.push_back(static_cast<int64_t>(dim));
  }
  Dataspace space{Shape(std::move(dims)), {}};
  for (int axis = 0; may_grow && axis < rank; ++axis) {
    const uint64_t most = cursor.u64();
    check<DataLoss>(most >= static_cast<uint64_t>(space.shape[axis]),
                    "{} has more elements along axis {} than it may have.", kSpace, axis);
    space.most.push_back(most);
  }
  return space;
}

namespace {

Layout read_contiguous(Cursor& cursor, Layout layout) {
  layout.address = cursor.u64();
  layout.size = cursor.u64();
  return layout;
}

// In the earliest format.
Layout read_old_chunks(Cursor& cursor, Layout layout) {
  const uint8_t numbers = cursor.u8();
  layout.address = cursor.u64();
  check<DataLoss>(numbers >= 1 && numbers <= kMaxRank + 1, "{} is damaged.", kLayout);
  for (uint8_t i = 0; i + 1 < numbers; ++i) layout.chunk.push_back(cursor.u32());
  layout.element_bytes = cursor.u32();
  return layout;
}

Layout read_new_chunks(Cursor& cursor, Layout layout) {
  const uint8_t flags = cursor.u8();
  const uint8_t numbers = cursor.u8();
  const uint8_t number_bytes = cursor.u8();
  check<DataLoss>(numbers >= 1 && numbers <= kMaxRank + 1, "{} is damaged.", kLayout);
  for (uint8_t i = 0; i + 1 < numbers; ++i) layout.chunk.push_back(cursor.number(number_bytes));
  layout.element_bytes = cursor.number(number_bytes);
  layout.edges_plain = flags & 1;
  const uint8_t index = cursor.u8();
  check<Unimplemented>(index >= 1 && index <= 5, "{} has an index of the unknown kind {}.", kLayout,
                       index);
  layout.index = static_cast<ChunkIndex>(index);
  if (layout.index == ChunkIndex::Single && (flags & 2)) {
    layout.single_stored = cursor.u64();
    layout.single_mask = cursor.u32();
  }
  // Creation parameters of arrays and trees, which these contain as well.
  if (layout.index == ChunkIndex::FixedArray) cursor.skip(1);
  if (layout.index == ChunkIndex::ExtensibleArray) cursor.skip(5);
  if (layout.index == ChunkIndex::NewTree) cursor.skip(6);
  layout.address = cursor.u64();
  return layout;
}

}  // namespace

Layout read_layout(const Object& dataset) {
  Cursor cursor(dataset.at(MessageType::Layout, kLayout).data, kLayout);
  const uint8_t version = cursor.version(3, 4);
  const uint8_t kind = cursor.u8();
  check<Unimplemented>(kind <= 2,
                       "it is put together from other datasets (virtual), which are not opened. "
                       "h5repack -l CONTI rewrites the file without them.");
  Layout layout;
  layout.kind = static_cast<Layout::Kind>(kind);
  switch (layout.kind) {
    case Layout::Kind::Compact: {
      layout.size = cursor.u16();
      const auto data = cursor.take(layout.size);
      layout.compact.assign(data.begin(), data.end());
      return layout;
    }
    case Layout::Kind::Contiguous:
      return read_contiguous(cursor, std::move(layout));
    case Layout::Kind::Chunked:
      break;
  }
  return version == 3 ? read_old_chunks(cursor, std::move(layout))
                      : read_new_chunks(cursor, std::move(layout));
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
  if (type.type_class == TypeClass::Float) {
    for (const FloatForm& known : kFloats) {
      if (type.size == known.size && type.form == known.form) return known.dtype;
    }
  }
  if (type.type_class == TypeClass::Integer) {
    for (const DType dtype : kIntegers) {
      if (type.size == size_of(dtype) && type.is_signed == is_signed(dtype)) return dtype;
    }
  }
  raise<Unimplemented>("its elements are of a type that can't be read: {}.", type.to_string());
}

}  // namespace cornu::hdf5
