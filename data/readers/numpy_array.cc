// SPDX-License-Identifier: Apache-2.0
#include "data/readers/numpy_array.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace cornu::data {
namespace {

constexpr char kOwnOrder = std::endian::native == std::endian::little ? '<' : '>';
constexpr char kForeignOrder = kOwnOrder == '<' ? '>' : '<';
constexpr size_t kMaxBytes = size_t{1} << 62;  // maximum size of an array

template <class Stored>
Stored load(const std::byte* from, bool swap) {
  Stored value;
  std::memcpy(&value, from, sizeof(value));
  if (!swap) return value;
  if constexpr (sizeof(Stored) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(Stored) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(Stored) == 8) return __builtin_bswap64(value);
  return value;  // a single byte
}

// Calls `copy(index in the file, index in the tensor)` for each element, in the tensor's order.
template <class Copy>
void for_each_element(const Shape& shape, bool fortran_order, Copy&& copy) {
  const int64_t count = shape.num_elements();
  if (!fortran_order) {
    for (int64_t i = 0; i < count; ++i) copy(i, i);
    return;
  }
  const auto rank = static_cast<size_t>(shape.rank());
  std::vector<int64_t> strides(rank);
  std::vector<int64_t> place(rank);
  int64_t stride = 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    strides[axis] = stride;
    stride *= shape.dims()[axis];
  }
  int64_t from = 0;
  for (int64_t to = 0; to < count; ++to) {
    copy(from, to);
    for (size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++place[axis] < shape.dims()[axis]) break;
      from -= strides[axis] * shape.dims()[axis];
      place[axis] = 0;
    }
  }
}

// The location and layout of an array's elements.
struct StoredArray {
  Shape shape;
  const std::byte* bytes;
  bool swap;
  bool fortran_order;
};

// Converts elements with the bits of Stored, interpreted as Value, to T.
template <class Stored, class Value = Stored, class T = Value>
Tensor converted(const StoredArray& array, DType dtype) {
  Tensor result = Tensor::empty(array.shape, dtype);
  std::byte* out = result.mutable_raw();
  for_each_element(array.shape, array.fortran_order, [&](int64_t from, int64_t to) {
    const std::byte* element = array.bytes + from * static_cast<int64_t>(sizeof(Stored));
    const T value = std::bit_cast<Value>(load<Stored>(element, array.swap));
    std::memcpy(out + to * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  });
  return result;
}

// As in NumPy, any nonzero byte is true.
Tensor bools(const StoredArray& array) {
  Tensor result = Tensor::empty(array.shape, DType::Bool);
  bool* out = result.mutable_data<bool>().data();
  for_each_element(array.shape, array.fortran_order,
                   [&](int64_t from, int64_t to) { out[to] = array.bytes[from] != std::byte{0}; });
  return result;
}

}  // namespace

std::string NumpyType::to_string() const {
  return is_object() ? fmt::format("{}O", order) : fmt::format("{}{}{}", order, kind, size);
}

std::optional<DType> NumpyType::dtype() const {
  const bool is_signed = kind == 'i';
  if (is_signed || kind == 'u') {
    if (size == 1) return is_signed ? DType::Int8 : DType::UInt8;
    if (size == 2) return DType::Int32;
    if (size == 4) return is_signed ? DType::Int32 : DType::UInt32;
    if (size == 8) return is_signed ? DType::Int64 : DType::UInt64;
  } else if (kind == 'f') {
    if (size == 2) return DType::Float16;
    if (size == 4) return DType::Float32;
    if (size == 8) return DType::Float64;
  } else if (kind == 'b' && size == 1) {
    return DType::Bool;
  } else if (kind == 'V' && size == 2) {
    return DType::BFloat16;
  }
  return std::nullopt;
}

std::optional<NumpyType> parse_numpy_type(std::string_view text) {
  NumpyType type{.order = '='};
  constexpr std::string_view kOrders = "<>=|";
  if (!text.empty() && kOrders.find(text.front()) != kOrders.npos) {
    type.order = text.front();
    text.remove_prefix(1);
  }
  constexpr std::string_view kKinds = "?biufcmMOSUVat";
  if (text.empty() || kKinds.find(text.front()) == kKinds.npos) return std::nullopt;
  type.kind = text.front() == '?' ? 'b' : text.front();
  text.remove_prefix(1);
  if (text.empty() && (type.is_object() || type.kind == 'b')) {
    type.size = type.is_object() ? 8 : 1;
    return type;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), type.size);
  const bool unit = type.kind == 'm' || type.kind == 'M';  // "M8[ns]"
  if (error != std::errc() || (end != text.data() + text.size() && !unit)) return std::nullopt;
  return type;
}

NumpyType numpy_type_of(DType dtype) {
  NumpyType type{.size = size_of(dtype)};
  if (type.size > 1) type.order = kOwnOrder;
  if (dtype == DType::Bool) {
    type.kind = 'b';
  } else if (dtype == DType::BFloat16) {
    type.kind = 'V';
  } else if (is_floating(dtype)) {
    type.kind = 'f';
  } else {
    type.kind = is_signed(dtype) ? 'i' : 'u';
  }
  return type;
}

std::optional<size_t> array_bytes(const NumpyType& type, const Shape& shape) {
  size_t bytes = type.size;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes) ||
        bytes > kMaxBytes) {
      return std::nullopt;
    }
  }
  return bytes;
}

Tensor array_from_bytes(const NumpyType& type, const Shape& shape, bool fortran_order,
                        std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  CORNU_ASSERT(bytes.size(), ==, array_bytes(type, shape).value_or(0));
  const DType dtype = type.dtype().value();
  if (bytes.empty()) return Tensor::empty(shape, dtype);
  const auto long_axes = std::count_if(shape.begin(), shape.end(), [](int64_t n) { return n > 1; });
  const StoredArray array{shape, bytes.data(), type.size > 1 && type.order == kForeignOrder,
                          fortran_order && long_axes > 1};
  if (dtype == DType::Bool) return bools(array);
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % type.size == 0;
  if (type.size == size_of(dtype) && aligned && !array.swap && !array.fortran_order) {
    return Tensor::wrap(bytes.data(), shape, dtype, std::move(owner));
  }
  switch (type.size) {
    case 1:
      return converted<uint8_t>(array, dtype);
    case 2:
      if (type.kind == 'u') return converted<uint16_t, uint16_t, int32_t>(array, dtype);
      if (type.kind == 'i') return converted<uint16_t, int16_t, int32_t>(array, dtype);
      return converted<uint16_t>(array, dtype);
    case 4:
      return converted<uint32_t>(array, dtype);
    default:
      return converted<uint64_t>(array, dtype);
  }
}

}  // namespace cornu::data
