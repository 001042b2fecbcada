// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/file_tensors.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "framework/core/proto_wire.h"
#include "framework/core/strings.h"
#include "framework/io/file_reader.h"
#include "framework/saving/onnx/reading/onnx_file.h"
#include "framework/saving/onnx/reading/wire_numbers.h"

namespace cornu::onnx::reading {

struct FileTensors::Parts {
  std::string name;
  int64_t type = 0;
  std::vector<int64_t> dims;
  std::optional<std::string_view> raw;
  // Elements as separate fields: bits of floats, or integers.
  std::vector<uint64_t> numbers;
  std::map<std::string, std::string> external;
  bool is_external = false;
  const char* at = nullptr;  // start of the tensor

  std::string label() const { return fmt::format("its tensor '{}'", printable(name)); }
};

namespace {

DType known_dtype(const std::string& path, const std::string& label, int64_t type) {
  const std::optional<DType> dtype = dtype_of_type(type);
  check<Unimplemented>(dtype.has_value(),
                       "'{}': {} is of ONNX's data type {}, which Cornu doesn't have (it has those "
                       "of bool, uint8, int8, int32, int64, uint32, uint64, float16, bfloat16, "
                       "float32 and float64).",
                       path, label, type);
  return *dtype;
}

// The bytes of an element that a message stores as a number.
void put_element(DType dtype, uint64_t number, std::byte* to) {
  switch (size_of(dtype)) {
    case 1: {
      const auto narrow = static_cast<uint8_t>(dtype == DType::Bool ? number != 0 : number);
      std::memcpy(to, &narrow, sizeof(narrow));
      break;
    }
    case 2: {
      const auto narrow = static_cast<uint16_t>(number);
      std::memcpy(to, &narrow, sizeof(narrow));
      break;
    }
    case 4: {
      const auto narrow = static_cast<uint32_t>(number);
      std::memcpy(to, &narrow, sizeof(narrow));
      break;
    }
    default:
      std::memcpy(to, &number, sizeof(number));
  }
}

Tensor of_numbers(const std::vector<uint64_t>& numbers, const Shape& shape, DType dtype) {
  Tensor tensor = Tensor::empty(shape, dtype);
  std::byte* to = tensor.mutable_raw();
  for (const uint64_t number : numbers) {
    put_element(dtype, number, to);
    to += size_of(dtype);
  }
  return tensor;
}

// Any nonzero byte is true.
Tensor with_valid_bools(Tensor tensor) {
  if (tensor.dtype() != DType::Bool) return tensor;
  Tensor result = Tensor::empty(tensor.shape(), DType::Bool);
  std::byte* to = result.mutable_raw();
  const std::byte* from = tensor.raw();
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    to[i] = std::byte{from[i] != std::byte{0}};
  }
  return result;
}

}  // namespace

FileTensors::Parts FileTensors::parts_of(std::string_view message) const {
  Parts parts;
  parts.at = message.data();
  each_field(message, [&](uint32_t field, wire::Reader& reader, wire::Type type) {
    switch (field) {
      case 1:
        for (const uint64_t size : varints(reader, type)) {
          parts.dims.push_back(static_cast<int64_t>(size));
        }
        break;
      case 2:
        parts.type = static_cast<int64_t>(number(reader, type));
        break;
      case 4:
        append_fixed<uint32_t>(reader, type, parts.numbers);
        break;
      case 5:
      case 7:
      case 11:
        for (const uint64_t element : varints(reader, type)) parts.numbers.push_back(element);
        break;
      case 8:
        parts.name = std::string(bytes(reader, type));
        break;
      case 9:
        parts.raw = bytes(reader, type);
        break;
      case 10:
        append_fixed<uint64_t>(reader, type, parts.numbers);
        break;
      case 13: {
        auto [key, value] = text_entry(bytes(reader, type));
        parts.external[key] = value;
        break;
      }
      case 14:
        parts.is_external = number(reader, type) == 1;
        break;
      default:
        return false;
    }
    return true;
  });
  return parts;
}

std::pair<std::string, Tensor> FileTensors::read(std::string_view message) {
  const Parts parts = parts_of(message);
  const DType dtype = known_dtype(path_, parts.label(), parts.type);
  const Shape shape(parts.dims);
  size_t wanted = 0;
  try {
    wanted = shape.num_bytes(size_of(dtype));
  } catch (const InvalidArgument&) {
    throw wire::Damage{"a tensor of impossible sizes", parts.at};
  }
  if (parts.is_external) return {parts.name, external(parts)};
  if (parts.raw) {
    if (parts.raw->size() != wanted) {
      throw wire::Damage{"a tensor that has other bytes than its sizes say", parts.at};
    }
    return {parts.name, raw(parts)};
  }
  if (parts.numbers.size() != wanted / size_of(dtype)) {
    throw wire::Damage{"a tensor that has other elements than its sizes say", parts.at};
  }
  return {parts.name, of_numbers(parts.numbers, shape, dtype)};
}

// In place, if the bytes are aligned as required for elements.
Tensor FileTensors::raw(const Parts& parts) {
  const DType dtype = *dtype_of_type(parts.type);
  const Shape shape(parts.dims);
  const char* data = parts.raw->data();
  if (reinterpret_cast<uintptr_t>(data) % size_of(dtype) == 0) {
    return with_valid_bools(Tensor::wrap(static_cast<const void*>(data), shape, dtype, memory_));
  }
  Tensor tensor = Tensor::empty(shape, dtype);
  if (!parts.raw->empty()) std::memcpy(tensor.mutable_raw(), data, parts.raw->size());
  return with_valid_bools(std::move(tensor));
}

std::string FileTensors::external_path(const Parts& parts) const {
  const auto found = parts.external.find("location");
  const std::string location = found == parts.external.end() ? "" : found->second;
  const bool plain = !location.empty() && location != "." && location != ".." &&
                     location.find_first_of(std::string("/\\\0", 3)) == std::string::npos;
  check<InvalidArgument>(
      plain, "'{}': {} is in another file, '{}'; expected the name of one in the same directory.",
      path_, parts.label(), printable(location));
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  const std::filesystem::path path = folder / location;
  std::error_code failed;
  const auto real = std::filesystem::canonical(path, failed);
  check<NotFound>(!failed, "'{}': {} is in the file '{}', which isn't there.", path_, parts.label(),
                  printable(location));
  const auto home = std::filesystem::canonical(folder.empty() ? "." : folder, failed);
  check<InvalidArgument>(!failed && real.parent_path() == home,
                         "'{}': {} is in the file '{}', which is a link to another directory. Put "
                         "the file itself there.",
                         path_, parts.label(), printable(location));
  return path.string();
}

Tensor FileTensors::external(const Parts& parts) {
  const DType dtype = *dtype_of_type(parts.type);
  const Shape shape(parts.dims);
  const std::string path = external_path(parts);
  FileReader file(path);
  const uint64_t wanted = shape.num_bytes(size_of(dtype));
  const auto entry = [&](const char* key, uint64_t otherwise) {
    const auto found = parts.external.find(key);
    if (found == parts.external.end()) return otherwise;
    uint64_t value = 0;
    const char* end = found->second.data() + found->second.size();
    const auto [rest, error] = std::from_chars(found->second.data(), end, value);
    check<DataLoss>(error == std::errc() && rest == end,
                    "'{}': {} has the {} '{}', which is no number.", path_, parts.label(), key,
                    printable(found->second));
    return value;
  };
  const uint64_t offset = entry("offset", 0);
  const uint64_t length = entry("length", wanted);
  check<DataLoss>(length == wanted, "'{}': {} has {} bytes in '{}', but its shape {} takes {}.",
                  path_, parts.label(), length, path, shape, wanted);
  check<DataLoss>(offset <= file.size() && length <= file.size() - offset,
                  "'{}': {} has the bytes from {} to {} of '{}', which has {}.", path_,
                  parts.label(), offset, offset + length, path, file.size());
  if (sizes_.emplace(path, file.size()).second) external_bytes_ += file.size();
  std::shared_ptr<Buffer>& buffer = external_[{path, offset, length}];
  if (!buffer) {
    external_read_ += length;
    check<DataLoss>(external_read_ <= 2 * external_bytes_,
                    "'{}': its tensors overlap in '{}': they have more bytes than the file.", path_,
                    path);
    buffer = allocate_host(length);
    file.seek(offset);
    file.read(std::span(buffer->data(), length));
  }
  return with_valid_bools(Tensor::from_buffer(buffer, 0, shape, dtype));
}

}  // namespace cornu::onnx::reading
