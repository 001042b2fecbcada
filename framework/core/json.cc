// SPDX-License-Identifier: Apache-2.0
#include "cornu/core/json.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cornu/core/error.h"

namespace cornu {
namespace {

using Parsed = nlohmann::ordered_json;

constexpr int kDeepest = 200;

Json from_parsed(const Parsed& parsed, int depth) {
  check<DataLoss>(depth < kDeepest, "JSON: nested deeper than {} levels.", kDeepest);
  switch (parsed.type()) {
    case Parsed::value_t::boolean:
      return parsed.get<bool>();
    case Parsed::value_t::number_integer:
      return parsed.get<int64_t>();
    case Parsed::value_t::number_unsigned: {
      const auto value = parsed.get<uint64_t>();
      if (value > static_cast<uint64_t>(INT64_MAX)) return static_cast<double>(value);
      return static_cast<int64_t>(value);
    }
    case Parsed::value_t::number_float:
      return parsed.get<double>();
    case Parsed::value_t::string:
      return parsed.get<std::string>();
    case Parsed::value_t::array: {
      Json::Array elements;
      for (const Parsed& element : parsed) elements.push_back(from_parsed(element, depth + 1));
      return elements;
    }
    case Parsed::value_t::object: {
      Json object = Json::object();
      for (const auto& [key, value] : parsed.items())
        object.set(key, from_parsed(value, depth + 1));
      return object;
    }
    default:
      return nullptr;
  }
}

// Python writes NaN and infinities as bare words, which JSON doesn't know: quote-free occurrences
// become numbers that overflow or a null-like marker the reader understands.
std::string without_python_words(std::string_view text) {
  std::string result;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    auto word = [&](std::string_view name) {
      return !quoted && text.substr(i, name.size()) == name;
    };
    if (word("NaN")) {
      result += "null";
      i += 2;
    } else if (word("Infinity")) {
      result += "1e999";
      i += 7;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void newline(std::string& text, int indent, int depth) {
  if (indent < 0) return;
  text += '\n';
  text.append(static_cast<size_t>(indent * depth), ' ');
}

void write(const Json& json, int indent, int depth, std::string& text) {
  if (json.is_array()) {
    text += '[';
    for (size_t i = 0; i < json.size(); ++i) {
      if (i > 0) text += indent < 0 ? ", " : ",";
      newline(text, indent, depth + 1);
      write(json[i], indent, depth + 1, text);
    }
    if (json.size() > 0) newline(text, indent, depth);
    text += ']';
  } else if (json.is_object()) {
    text += '{';
    const char* separator = "";
    for (const auto& [key, value] : json.as_object()) {
      text += separator;
      newline(text, indent, depth + 1);
      text += Parsed(key).dump() + ": ";
      write(value, indent, depth + 1, text);
      separator = indent < 0 ? ", " : ",";
    }
    if (json.size() > 0) newline(text, indent, depth);
    text += '}';
  } else if (json.is_string()) {
    text += Parsed(json.as_string()).dump(-1, ' ', false, Parsed::error_handler_t::replace);
  } else if (json.is_bool()) {
    text += json.as_bool() ? "true" : "false";
  } else if (json.is_int()) {
    text += std::to_string(json.as_int());
  } else if (json.is_number()) {
    text += number_text(json.as_double());
  } else {
    text += "null";
  }
}

}  // namespace

Json::Json(const Shape& shape) {
  Array elements;
  for (int64_t dim : shape) elements.push_back(dim == kUnknown ? Json() : Json(dim));
  value_ = std::move(elements);
}

Json::Json(const std::vector<int64_t>& values) : value_(Array(values.begin(), values.end())) {}

Json Json::object(std::initializer_list<Member> members) {
  Json json;
  json.value_ = Object(members);
  return json;
}

Json Json::parse(std::string_view text) {
  try {
    return from_parsed(Parsed::parse(text), 0);
  } catch (const Parsed::exception& first) {
    try {
      return from_parsed(Parsed::parse(without_python_words(text)), 0);
    } catch (const Parsed::exception&) {
      const auto* where = dynamic_cast<const Parsed::parse_error*>(&first);
      raise<DataLoss>("JSON: not readable at byte {}: {}", where ? where->byte : 0, first.what());
    }
  }
}

std::string Json::dump(int indent) const {
  std::string text;
  write(*this, indent, 0, text);
  return text;
}

namespace {

template <class T>
const T& expect(const T* value, const char* what, const Json& json) {
  if (!value) raise<InvalidArgument>("JSON: expected {}, got {}.", what, json.dump());
  return *value;
}

}  // namespace

bool Json::as_bool() const { return expect(std::get_if<bool>(&value_), "true or false", *this); }

int64_t Json::as_int() const {
  if (const auto* number = std::get_if<double>(&value_)) {
    if (*number == std::trunc(*number) && std::abs(*number) < 0x1p62) {
      return static_cast<int64_t>(*number);
    }
  }
  return expect(std::get_if<int64_t>(&value_), "an integer", *this);
}

double Json::as_double() const {
  if (is_int()) return static_cast<double>(std::get<int64_t>(value_));
  return expect(std::get_if<double>(&value_), "a number", *this);
}

const std::string& Json::as_string() const {
  return expect(std::get_if<std::string>(&value_), "a string", *this);
}
const Json::Array& Json::as_array() const {
  return expect(std::get_if<Array>(&value_), "an array", *this);
}
const Json::Object& Json::as_object() const {
  return expect(std::get_if<Object>(&value_), "an object", *this);
}

Shape Json::as_shape() const {
  Shape shape;
  for (const Json& element : as_array()) {
    shape.push_back(element.is_null() ? kUnknown : element.as_int());
  }
  return shape;
}

std::vector<int64_t> Json::as_ints() const {
  std::vector<int64_t> values;
  for (const Json& element : as_array()) values.push_back(element.as_int());
  return values;
}

const Json& Json::at(std::string_view key) const {
  const Json* found = find(key);
  if (!found) raise<NotFound>("JSON: expected a member '{}' in {}.", key, dump());
  return *found;
}

const Json* Json::find(std::string_view key) const {
  const auto* object = std::get_if<Object>(&value_);
  if (!object) return nullptr;
  for (const auto& [name, value] : *object) {
    if (name == key) return &value;
  }
  return nullptr;
}

void Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = Object();
  as_object();
  for (auto& [name, old] : std::get<Object>(value_)) {
    if (name == key) {
      old = std::move(value);
      return;
    }
  }
  std::get<Object>(value_).emplace_back(std::string(key), std::move(value));
}

void Json::merge(const Json& other) {
  for (const auto& [key, value] : other.as_object()) set(key, value);
}

const Json& Json::operator[](size_t index) const {
  const Array& elements = as_array();
  check<OutOfRange>(index < elements.size(), "JSON: expected an index below {}, got {}.",
                    elements.size(), index);
  return elements[index];
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array();
  as_array();
  std::get<Array>(value_).push_back(std::move(value));
}

size_t Json::size() const {
  if (is_array()) return std::get<Array>(value_).size();
  if (is_object()) return std::get<Object>(value_).size();
  return 0;
}

}  // namespace cornu
