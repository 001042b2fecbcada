// SPDX-License-Identifier: Apache-2.0
// A JSON value, as returned by every get_config(). Objects keep the order of their keys.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "framework/core/shape.h"

namespace cornu {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;                      // null
  Json(std::nullptr_t) {}                // NOLINT: implicit on purpose
  Json(bool value) : value_(value) {}    // NOLINT
  Json(double value) : value_(value) {}  // NOLINT
  // Integers and unscoped enumerators. Throws InvalidArgument for numbers beyond int64.
  template <class T>
  requires(std::integral<T> || (std::is_enum_v<T> && std::is_convertible_v<T, int>)) Json(T value)
      : value_(checked(value)) {}                             // NOLINT
  Json(const char* value);                                    // NOLINT: null throws InvalidArgument
  Json(std::string value) : value_(std::move(value)) {}       // NOLINT
  Json(std::string_view value) : Json(std::string(value)) {}  // NOLINT
  Json(const void* value) = delete;                           // would convert to bool
  Json(Array value) : value_(std::move(value)) {}             // NOLINT
  Json(const Shape& shape);                      // NOLINT: an array, null for unknown axes
  Json(const std::vector<int64_t>& values);      // NOLINT
  Json(const std::vector<std::string>& values);  // NOLINT

  Json(const Json& other);
  Json(Json&&) noexcept = default;
  // By value, so that a value can be replaced by a part of itself: config = config["layers"].
  Json& operator=(Json other) noexcept {
    value_.swap(other.value_);
    return *this;
  }

  class NewMember;
  static Json object(std::initializer_list<NewMember> members = {});  // moves the members' values
  static Json array(std::initializer_list<Json> elements = {}) { return Json(Array(elements)); }

  static Json of_members(Object members);  // the names must be distinct

  // Throws DataLoss, with the byte offset, when `text` isn't JSON. Accepts Python's NaN and
  // Infinity.
  static Json parse(std::string_view text);
  // Compact when indent < 0. Numbers are written so that they read back as the same value.
  std::string dump(int indent = -1) const;

  // dump() for error messages, cut off after about 200 bytes.
  std::string excerpt() const;

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // These throw InvalidArgument, with the actual value, when the value is of another kind.
  bool as_bool() const;
  int64_t as_int() const;    // accepts a float with an integral value
  double as_double() const;  // accepts an integer
  const std::string& as_string() const&;
  const Array& as_array() const&;
  const Object& as_object() const&;
  std::string as_string() &&;  // by value on temporaries, since a view would dangle
  Array as_array() &&;
  Object as_object() &&;
  Shape as_shape() const;  // an array of integers and nulls
  std::vector<int64_t> as_ints() const;
  std::vector<std::string> as_strings() const;

  // Members of an object. `at` throws NotFound, naming the key; `find` returns null when it is
  // missing.
  const Json& at(std::string_view key) const&;
  Json at(std::string_view key) &&;
  void at(std::nullptr_t) const = delete;  // catches at(0)
  const Json& operator[](std::string_view key) const& { return at(key); }
  Json operator[](std::string_view key) && { return std::move(*this).at(key); }
  const Json* find(std::string_view key) const&;
  const Json* find(std::string_view key) && = delete;  // would point into the temporary
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  void set(std::string_view key, Json value);  // replaces or appends
  void merge(const Json& other);               // sets every member of `other`

  // Elements of an array.
  const Json& operator[](size_t index) const&;
  Json operator[](size_t index) &&;
  void push_back(Json value);
  size_t size() const;  // number of elements or members; 0 for other kinds

  friend bool operator==(const Json&, const Json&) = default;

 private:
  template <class T>
  static int64_t checked(T value) {
    const auto number = static_cast<int64_t>(value);
    if constexpr (std::unsigned_integral<T>) {
      if (number < 0) refuse(static_cast<uint64_t>(value));
    }
    return number;
  }
  [[noreturn]] static void refuse(uint64_t value);

  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

// A member in an initializer list for object(). std::initializer_list alone would only allow
// copying the members, together with everything nested in them.
class Json::NewMember {
 public:
  NewMember(std::string name, Json value) : name_(std::move(name)), value_(std::move(value)) {}
  Member take() const { return {name_, std::move(value_)}; }

 private:
  std::string name_;
  mutable Json value_;
};

}  // namespace cornu
