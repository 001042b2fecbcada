// SPDX-License-Identifier: Apache-2.0
#include "data/readers/idx.h"

#include <algorithm>
#include <array>
#include <bit>

#include "data/readers/output_file.h"
#include "framework/core/threads.h"
#include "framework/io/file_reader.h"
#include "framework/io/gzip.h"

namespace cornu::data {
namespace {

using Bytes = std::span<std::byte>;

struct ElementType {
  int code;     // the third byte of the file
  size_t size;  // in the file
  DType dtype;  // of the tensor
};

constexpr std::array kElementTypes = {
    ElementType{0x08, 1, DType::UInt8},   ElementType{0x09, 1, DType::Int8},
    ElementType{0x0B, 2, DType::Int32},   ElementType{0x0C, 4, DType::Int32},
    ElementType{0x0D, 4, DType::Float32}, ElementType{0x0E, 8, DType::Float64},
};

struct Header {
  ElementType type;
  Shape shape;
  size_t bytes = 0;       // of the header
  size_t data_bytes = 0;  // of the data that follows
};

// Reads bytes in the order of the file; fewer than requested only at its end.
using Read = FunctionRef<size_t(Bytes)>;

uint32_t big_endian_32(const std::byte* bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(bytes[i]);
  return value;
}

const ElementType& element_type(std::byte code, const std::string& name) {
  const auto* found = std::find_if(kElementTypes.begin(), kElementTypes.end(), [&](const auto& t) {
    return t.code == std::to_integer<int>(code);
  });
  check<DataLoss>(found != kElementTypes.end(),
                  "{}: not an IDX file: at byte 2, expected an element type 0x08 to 0x0E, got "
                  "0x{:02x}.",
                  name, std::to_integer<int>(code));
  return *found;
}

Header read_header(Read read, const std::string& name) {
  std::array<std::byte, 4> magic;
  const size_t got = read(magic);
  check<DataLoss>(got == magic.size(),
                  "{}: truncated at byte {}: an IDX file has at least 4 bytes.", name, got);
  check<DataLoss>(magic[0] == std::byte{0} && magic[1] == std::byte{0},
                  "{}: not an IDX file: at byte 0, expected 00 00, got {:02x} {:02x}.", name,
                  std::to_integer<int>(magic[0]), std::to_integer<int>(magic[1]));
  Header header;
  header.type = element_type(magic[2], name);
  const auto rank = std::to_integer<size_t>(magic[3]);
  std::array<std::byte, 4 * 255> sizes;
  const Bytes used = Bytes(sizes).first(4 * rank);
  const size_t size_bytes = read(used);
  header.bytes = magic.size() + used.size();
  check<DataLoss>(size_bytes == used.size(),
                  "{}: truncated at byte {}, in the sizes of its {} axes.", name,
                  magic.size() + size_bytes, rank);
  header.data_bytes = header.type.size;
  for (size_t axis = 0; axis < rank; ++axis) {
    const uint32_t size = big_endian_32(sizes.data() + 4 * axis);
    header.shape.push_back(size);
    check<DataLoss>(!__builtin_mul_overflow(header.data_bytes, size_t{size}, &header.data_bytes) &&
                        header.data_bytes <= size_t{1} << 62,
                    "{}: at byte {}, an impossible size: axis {} of {} has {} entries.", name,
                    4 + 4 * axis, axis, rank, size);
  }
  return header;
}

[[noreturn]] void raise_cut_off(const Header& header, const std::string& name, size_t size) {
  raise<DataLoss>(
      "{}: truncated at byte {}: an array of shape {} needs {} bytes. Download or create the file "
      "again.",
      name, size, header.shape, header.bytes + header.data_bytes);
}

[[noreturn]] void raise_too_long(const Header& header, const std::string& name) {
  raise<DataLoss>("{}: at byte {}, expected the end of the file after an array of shape {}.", name,
                  header.bytes + header.data_bytes, header.shape);
}

// Converts elements of several bytes, which are big-endian in the file.
template <class Stored, class T>
void convert(const std::byte* from, std::span<T> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    Stored value = 0;
    for (size_t k = 0; k < sizeof(Stored); ++k) {
      value =
          static_cast<Stored>(value << 8 | std::to_integer<Stored>(from[i * sizeof(Stored) + k]));
    }
    if constexpr (sizeof(T) == sizeof(Stored)) {
      to[i] = std::bit_cast<T>(value);
    } else {
      to[i] = static_cast<int16_t>(value);
    }
  }
}

// The array whose bytes in the file are `data`; elements of a single byte aren't copied.
Tensor to_tensor(const Header& header, Bytes data, std::shared_ptr<const void> owner) {
  const auto& [code, size, dtype] = header.type;
  if (size == 1) return Tensor::wrap(data.data(), header.shape, dtype, std::move(owner));
  Tensor result = Tensor::empty(header.shape, dtype);
  if (size == 2) {
    convert<uint16_t>(data.data(), result.mutable_data<int32_t>());
  } else if (dtype == DType::Int32) {
    convert<uint32_t>(data.data(), result.mutable_data<int32_t>());
  } else if (dtype == DType::Float32) {
    convert<uint32_t>(data.data(), result.mutable_data<float>());
  } else {
    convert<uint64_t>(data.data(), result.mutable_data<double>());
  }
  return result;
}

Tensor parse_plain(Bytes file, const std::string& name, std::shared_ptr<const void> owner) {
  size_t offset = 0;
  const Header header = read_header(
      [&](Bytes out) {
        const size_t count = std::min(out.size(), file.size() - offset);
        std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
        offset += count;
        return count;
      },
      name);
  const Bytes data = file.subspan(header.bytes);
  if (data.size() < header.data_bytes) raise_cut_off(header, name, file.size());
  if (data.size() > header.data_bytes) raise_too_long(header, name);
  return to_tensor(header, data, std::move(owner));
}

Tensor parse_gzip(Bytes file, const std::string& name) {
  GzipReader reader(file, name);
  auto read = [&](Bytes out) { return reader.read(out); };
  const Header header = read_header(read, name);
  const size_t needed = header.data_bytes;
  if (needed / kMaxInflation > file.size()) {
    raise<DataLoss>(
        "{}: an array of shape {} needs {} bytes, but {} compressed bytes can't hold more than {}.",
        name, header.shape, needed, file.size(), file.size() * kMaxInflation);
  }
  // Grows as data arrives, since the size promised by a small file can't be trusted.
  constexpr size_t kLikelyInflation = 8;
  size_t filled = 0;
  auto buffer = allocate_host(std::min(needed, file.size() * kLikelyInflation));
  for (;;) {
    filled += reader.read(Bytes(buffer->data(), buffer->bytes()).subspan(filled));
    if (filled < buffer->bytes()) raise_cut_off(header, name, reader.unpacked_bytes());
    if (filled == needed) break;
    auto larger = allocate_host(std::min(needed, 2 * filled));
    std::copy_n(buffer->data(), filled, larger->data());
    buffer = std::move(larger);
  }
  std::byte after;
  if (reader.read(Bytes(&after, 1)) != 0) raise_too_long(header, name);
  return to_tensor(header, Bytes(buffer->data(), filled), buffer);
}

}  // namespace

Tensor parse_idx(Bytes file, const std::string& name, std::shared_ptr<const void> owner) {
  return is_gzip(file) ? parse_gzip(file, name) : parse_plain(file, name, std::move(owner));
}

Tensor read_idx(const std::filesystem::path& path) {
  const auto file = read_whole_file(path);
  return parse_idx(Bytes(file->data(), file->bytes()), path.string(), file);
}

void write_idx(const std::filesystem::path& path, const Tensor& tensor) {
  const Tensor values = tensor.host();
  const auto* type = std::find_if(kElementTypes.begin(), kElementTypes.end(), [&](const auto& t) {
    return t.dtype == values.dtype() && t.size == size_of(t.dtype);
  });
  check<InvalidArgument>(type != kElementTypes.end(),
                         "write_idx: expected uint8, int8, int32, float32 or float64, got {}. Use "
                         "ops::cast.",
                         values.dtype());
  check<InvalidArgument>(values.rank() <= 255, "write_idx: expected at most 255 axes, got {}.",
                         values.rank());
  std::string bytes{'\0', '\0', static_cast<char>(type->code), static_cast<char>(values.rank())};
  const auto append = [&](const std::byte* from, size_t size) {  // most significant byte first
    for (size_t i = size; i-- > 0;) bytes += static_cast<char>(from[i]);
  };
  for (int64_t i = 0; i < values.rank(); ++i) {
    check<InvalidArgument>(values.dim(i) <= UINT32_MAX,
                           "write_idx: expected axes of less than 2^32 entries, got {}.",
                           values.shape());
    const auto size = static_cast<uint32_t>(values.dim(i));
    append(reinterpret_cast<const std::byte*>(&size), sizeof(size));
  }
  bytes.reserve(bytes.size() + values.bytes());
  for (size_t at = 0; at < values.bytes(); at += type->size) {
    append(values.raw() + at, type->size);
  }
  const bool packed = path.extension() == ".gz";
  OutputFile file(path.string(), packed ? Compression::Gzip : Compression::None, {});
  file.write(bytes);
  file.close();
}

}  // namespace cornu::data
