// SPDX-License-Identifier: Apache-2.0
// Element types.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cornu {

enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int32,
  Int64,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  // Byte strings of any length, stored as std::string objects; only in pipelines and on the host.
  String,
};

// The number of numeric dtypes, including Bool: all but String.
inline constexpr int kNumDTypes = 11;

// Storage formats of 16-bit floating-point numbers; arithmetic is done in float.
struct float16 {
  uint16_t bits = 0;
  float16() = default;
  explicit float16(float value);
  operator float() const;
};
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value);
  operator float() const;
};

// Keras's names: "float32", "bool", …
const char* to_string(DType dtype);
// Throws InvalidArgument with the nearest known name.
DType dtype_from_string(std::string_view name);
DType dtype_from_string(const char* name);  // also throws InvalidArgument for a null pointer

std::ostream& operator<<(std::ostream& out, DType dtype);

// A dtype argument: `DType::Float32` or its name, "float32".
class DTypeLike {
 public:
  constexpr DTypeLike(DType dtype) : dtype_(dtype) {}                      // NOLINT: implicit
  DTypeLike(const char* name) : dtype_(dtype_from_string(name)) {}         // NOLINT
  DTypeLike(const std::string& name) : dtype_(dtype_from_string(name)) {}  // NOLINT
  constexpr operator DType() const { return dtype_; }                      // NOLINT

 private:
  DType dtype_;
};

// Throws InvalidArgument, with the nearest known name, when `name` isn't a dtype.
inline bool operator==(DType dtype, const char* name) { return dtype == dtype_from_string(name); }

// The name of a dtype or of a dtype policy ("mixed_bfloat16"). A DType can be passed as well.
class DTypeName : public std::string {
 public:
  DTypeName() = default;                                         // the default policy
  DTypeName(DType dtype) : std::string(to_string(dtype)) {}      // NOLINT: implicit on purpose
  DTypeName(const char* name);                                   // NOLINT
  DTypeName(std::string name) : std::string(std::move(name)) {}  // NOLINT
};

// Bytes per element; for String, the size of the std::string object.
size_t size_of(DType dtype);
bool is_floating(DType dtype);
bool is_half(DType dtype);     // float16 or bfloat16
bool is_integer(DType dtype);  // signed or unsigned; not Bool
bool is_signed(DType dtype);

// The dtype of a binary operation's result by Keras's promotion rules (JAX's lattice): float beats
// integer, wider beats narrower, float16 with bfloat16 gives float32. Throws InvalidArgument for a
// string with a number.
DType promote(DType a, DType b);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::Bool;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::UInt8;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::Int8;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::Int32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::Int64;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::UInt32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::UInt64;
};
template <>
struct DTypeOf<float16> {
  static constexpr DType value = DType::Float16;
};
template <>
struct DTypeOf<bfloat16> {
  static constexpr DType value = DType::BFloat16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::Float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::Float64;
};
template <>
struct DTypeOf<std::string> {
  static constexpr DType value = DType::String;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

namespace internal {

template <size_t kBytes, bool kSigned>
struct StoredInteger;
template <>
struct StoredInteger<1, true> {
  using Type = int8_t;
};
template <>
struct StoredInteger<1, false> {
  using Type = uint8_t;
};
template <bool kSigned>
struct StoredInteger<2, kSigned> {
  using Type = int32_t;  // there is no two-byte integer dtype
};
template <>
struct StoredInteger<4, true> {
  using Type = int32_t;
};
template <>
struct StoredInteger<4, false> {
  using Type = uint32_t;
};
template <>
struct StoredInteger<8, true> {
  using Type = int64_t;
};
template <>
struct StoredInteger<8, false> {
  using Type = uint64_t;
};

template <class T>
auto stored_type() {
  if constexpr (requires { DTypeOf<T>::value; }) {
    return T{};
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return std::string();
  } else if constexpr (std::is_floating_point_v<T>) {
    return double{};
  } else {
    constexpr bool kSigned = std::is_signed_v<T> || std::is_same_v<T, char>;  // ARM: unsigned
    return typename StoredInteger<sizeof(T), kSigned>::Type{};
  }
}

}  // namespace internal

// The type that elements of C++ type T are stored as: T itself if it has a dtype, else a type that
// can hold its values (long long: int64_t, short: int32_t, char: int8_t, long double: double;
// string views and literals: std::string).
template <class T>
using stored_t = decltype(internal::stored_type<std::remove_cv_t<T>>());

namespace internal {
[[noreturn]] void refuse_strings();
}  // namespace internal

// Calls `f(T{})` with the C++ type of `dtype` and returns its result. Throws InvalidArgument for
// strings: code that supports them handles them before calling this.
template <class F>
decltype(auto) dispatch_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Bool:
      return f(bool{});
    case DType::UInt8:
      return f(uint8_t{});
    case DType::Int8:
      return f(int8_t{});
    case DType::Int32:
      return f(int32_t{});
    case DType::Int64:
      return f(int64_t{});
    case DType::UInt32:
      return f(uint32_t{});
    case DType::UInt64:
      return f(uint64_t{});
    case DType::Float16:
      return f(float16{});
    case DType::BFloat16:
      return f(bfloat16{});
    case DType::Float32:
      return f(float{});
    case DType::Float64:
      return f(double{});
    case DType::String:
      internal::refuse_strings();
  }
  __builtin_unreachable();
}

}  // namespace cornu

template <>
struct fmt::formatter<cornu::DType> : fmt::formatter<std::string_view> {
  auto format(cornu::DType dtype, format_context& context) const {
    return fmt::formatter<std::string_view>::format(cornu::to_string(dtype), context);
  }
};
template <>
struct fmt::formatter<cornu::DTypeLike> : fmt::formatter<cornu::DType> {};
