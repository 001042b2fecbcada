// SPDX-License-Identifier: Apache-2.0
#include "framework/core/json.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "framework/core/ascii.h"
#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu {

Json::Json(const char* value) {
  check<InvalidArgument>(value != nullptr, "Json: expected text, got a null pointer.");
  value_ = std::string(value);
}

void Json::refuse(uint64_t value) {
  raise<InvalidArgument>("Json: expected an integer of at most {}, got {}.",
                         std::numeric_limits<int64_t>::max(), value);
}
namespace {

// libstdc++ 12 can't copy a variant of texts and lists when memory runs out: its destructor takes
// the alternative that wasn't made for one that was. An alternative that is made in place is safe.
template <class... T>
std::variant<T...> copy_of(const std::variant<T...>& from) {
  const auto copy = []<class V>(const V& value) {
    return std::variant<T...>(std::in_place_type<V>, value);
  };
  return std::visit(copy, from);
}

using Parsed = nlohmann::ordered_json;

constexpr size_t kDeepest = 200;

// Python writes NaN and infinities as bare words, which aren't valid JSON. They are replaced by
// these numbers, which nobody writes.
constexpr std::string_view kNaN = "0e-20000001";
constexpr std::string_view kInfinity = "0e-20000002";

std::string without_python_words(std::string_view text) {
  std::string result;
  bool quoted = false;
  auto is_part_of_number = [&](size_t i) {
    return i < text.size() && (ascii::is_alnum(text[i]) || text[i] == '.');
  };
  for (size_t i = 0; i < text.size(); ++i) {
    auto word = [&](std::string_view name) {
      return !quoted && text.substr(i, name.size()) == name && !is_part_of_number(i - 1) &&
             !is_part_of_number(i + name.size());
    };
    if (quoted && text[i] == '\\') {
      result += text.substr(i++, 2);
    } else if (word("NaN") && (i == 0 || text[i - 1] != '-')) {
      result += kNaN;
      i += 2;
    } else if (word("Infinity")) {
      result += kInfinity;
      i += 7;
    } else {
      if (text[i] == '"') quoted = !quoted;
      result += text[i];
    }
  }
  return result;
}

// Builds a Json from the events of nlohmann's parser.
class Builder : public nlohmann::json_sax<Parsed> {
 public:
  Json root;
  size_t error_byte = 0;
  std::string error;

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override {
    const bool fits = value <= static_cast<uint64_t>(INT64_MAX);
    return add(fits ? Json(static_cast<int64_t>(value)) : Json(static_cast<double>(value)));
  }
  bool number_float(double value, const std::string& text) override {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    if (text == kNaN) return add(std::nan(""));
    if (text.ends_with(kInfinity)) return add(text[0] == '-' ? -kInf : kInf);
    return add(value);
  }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Parsed::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(false); }
  bool key(std::string& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(true); }
  bool end_array() override { return close(); }
  bool parse_error(size_t byte, const std::string&, const Parsed::exception& reason) override {
    error_byte = byte;
    error = printable(reason.what(), 300);
    return false;
  }

 private:
  // An array or object that hasn't ended yet.
  struct Open {
    bool is_array;
    Json::Array elements = {};
    Json::Object members = {};
    std::string key = {};                                 // of the next member
    std::unordered_map<std::string, size_t> places = {};  // index of each member, by key
  };

  bool add(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (open_.back().is_array) {
      open_.back().elements.push_back(std::move(value));
    } else {
      add_member(open_.back(), std::move(value));
    }
    return true;
  }
  // If a key repeats, the last value wins, at the position of the first, as in Python.
  static void add_member(Open& open, Json value) {
    const auto [place, added] = open.places.emplace(open.key, open.members.size());
    if (added) {
      open.members.emplace_back(std::move(open.key), std::move(value));
    } else {
      open.members[place->second].second = std::move(value);
    }
  }
  bool open(bool is_array) {
    check<DataLoss>(open_.size() < kDeepest, "JSON: nested deeper than {} levels.", kDeepest);
    open_.push_back({is_array});
    return true;
  }
  bool close() {
    Open& last = open_.back();
    Json value =
        last.is_array ? Json(std::move(last.elements)) : Json::of_members(std::move(last.members));
    open_.pop_back();
    return add(std::move(value));
  }

  std::vector<Open> open_;
};

// Moves a part out of a temporary.
template <class Part>
Part taken(const Part& part) {
  return std::move(const_cast<Part&>(part));
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

// Writes JSON text.
class Writer {
 public:
  // Compact when indent < 0. Stops soon after `most` bytes.
  Writer(int indent, size_t most) : indent_(indent), most_(most) {}

  void write(const Json& json, int depth) {
    if (json.is_array()) {
      list('[', json.as_array(), ']', depth, [&](const Json& x) { write(x, depth + 1); });
    } else if (json.is_object()) {
      list('{', json.as_object(), '}', depth, [&](const Json::Member& member) {
        text_ += quoted(member.first) + ": ";
        write(member.second, depth + 1);
      });
    } else if (json.is_string()) {
      text_ += quoted(json.as_string());
    } else if (json.is_bool()) {
      text_ += json.as_bool() ? "true" : "false";
    } else if (json.is_int()) {
      text_ += std::to_string(json.as_int());
    } else if (json.is_number()) {
      text_ += number_text(json.as_double());
    } else {
      text_ += "null";
    }
  }
  std::string take() { return std::move(text_); }

 private:
  template <class Elements, class F>
  void list(char begin, const Elements& elements, char end, int depth, F write_element) {
    text_ += begin;
    const char* separator = "";
    for (const auto& element : elements) {
      if (text_.size() > most_) break;
      text_ += separator;
      newline(depth + 1);
      write_element(element);
      separator = indent_ < 0 ? ", " : ",";
    }
    if (!elements.empty()) newline(depth);
    text_ += end;
  }
  void newline(int depth) {
    if (indent_ < 0) return;
    text_ += '\n';
    text_.append(static_cast<size_t>(indent_ * depth), ' ');
  }
  std::string quoted(const std::string& text) const {
    return Parsed(text.substr(0, most_)).dump(-1, ' ', false, Parsed::error_handler_t::replace);
  }

  int indent_;
  size_t most_;
  std::string text_;
};

}  // namespace

Json::Json(const Json& other) : value_(copy_of(other.value_)) {}

Json::Json(const Shape& shape) {
  Array elements;
  for (int64_t dim : shape) elements.push_back(dim == kUnknown ? Json() : Json(dim));
  value_ = std::move(elements);
}

Json::Json(const std::vector<int64_t>& values) : value_(Array(values.begin(), values.end())) {}
Json::Json(const std::vector<std::string>& values) : value_(Array(values.begin(), values.end())) {}

Json Json::object(std::initializer_list<NewMember> members) {
  Object taken;
  taken.reserve(members.size());
  for (const NewMember& member : members) taken.push_back(member.take());
  return of_members(std::move(taken));
}

Json Json::of_members(Object members) {
  Json json;
  json.value_ = std::move(members);
  return json;
}

Json Json::parse(std::string_view text) {
  Builder builder;
  if (Parsed::sax_parse(text, &builder)) return std::move(builder.root);
  Builder python;
  if (Parsed::sax_parse(without_python_words(text), &python)) return std::move(python.root);
  raise<DataLoss>("JSON: not readable at byte {}: {}", builder.error_byte, builder.error);
}

std::string Json::dump(int indent) const {
  Writer writer(indent, std::string::npos);
  writer.write(*this, 0);
  return writer.take();
}

std::string Json::excerpt() const {
  constexpr size_t kMax = 200;
  Writer writer(-1, kMax);
  writer.write(*this, 0);
  return printable(writer.take(), kMax);
}

namespace {

template <class T>
const T& expect(const T* value, const char* what, const Json& json) {
  if (!value) raise<InvalidArgument>("JSON: expected {}, got {}.", what, json.excerpt());
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

const std::string& Json::as_string() const& {
  return expect(std::get_if<std::string>(&value_), "a string", *this);
}
const Json::Array& Json::as_array() const& {
  return expect(std::get_if<Array>(&value_), "an array", *this);
}
const Json::Object& Json::as_object() const& {
  return expect(std::get_if<Object>(&value_), "an object", *this);
}

std::string Json::as_string() && { return taken(std::as_const(*this).as_string()); }
Json::Array Json::as_array() && { return taken(std::as_const(*this).as_array()); }
Json::Object Json::as_object() && { return taken(std::as_const(*this).as_object()); }

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

std::vector<std::string> Json::as_strings() const {
  std::vector<std::string> values;
  for (const Json& element : as_array()) values.push_back(element.as_string());
  return values;
}

const Json& Json::at(std::string_view key) const& {
  const Json* found = find(key);
  if (!found) raise<NotFound>("JSON: expected a member '{}' in {}.", printable(key), excerpt());
  return *found;
}

Json Json::at(std::string_view key) && { return taken(std::as_const(*this).at(key)); }

const Json* Json::find(std::string_view key) const& {
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

const Json& Json::operator[](size_t index) const& {
  const Array& elements = as_array();
  check<OutOfRange>(index < elements.size(), "JSON: expected an index below {}, got {}.",
                    elements.size(), index);
  return elements[index];
}

Json Json::operator[](size_t index) && { return taken(std::as_const(*this)[index]); }

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
