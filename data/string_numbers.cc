// SPDX-License-Identifier: Apache-2.0
// Functions that relate strings to other things: patterns, numbers, files and tables.
#include <locale.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/readers/csv_columns.h"
#include "data/readers/exact_scalar.h"
#include "data/readers/string_map.h"
#include "data/serialization/host_functions.h"
#include "data/strings.h"
#include "framework/core/rows.h"
#include "framework/io/file_reader.h"

namespace cornu::data {
namespace strings {
namespace {

void check_pattern(const RE2& regex, const char* who) {
  check<InvalidArgument>(regex.ok(), "strings::{}: \"{}\" is no pattern: {}.", who,
                         printable(regex.pattern()), regex.error());
}

template <class T>
Tensor numbers_of(const Tensor& input) {
  return map_strings<T>(input, "to_number", [](const std::string& text) {
    T value{};
    check<InvalidArgument>(parse_field(text, value),
                           "strings::to_number: expected a number ({}), got \"{}\".",
                           to_string(dtype_of<T>), printable(text));
    return value;
  });
}

void check_format(const AsStringOptions& options, DType dtype) {
  const int forms = options.scientific + options.shortest;
  check<InvalidArgument>(forms < 2,
                         "strings::as_string: expected at most one of scientific and shortest.");
  check<InvalidArgument>(is_floating(dtype) || (forms == 0 && options.precision < 0),
                         "strings::as_string: precision, scientific and shortest are for "
                         "floating-point numbers, got {}.",
                         to_string(dtype));
  check<InvalidArgument>(
      options.fill.empty() ||
          (options.fill.size() == 1 && std::string("0 -+").find(options.fill) != std::string::npos),
      "strings::as_string: expected a fill of \"0\", \" \", \"-\" or \"+\", got "
      "\"{}\".",
      options.fill);
  check<InvalidArgument>(options.width <= 1000 && options.precision <= 1000,
                         "strings::as_string: expected a width and precision of at most 1000, got "
                         "{} and {}.",
                         options.width, options.precision);
}

// printf's format without the conversion specifier.
std::string format_of(const AsStringOptions& options) {
  std::string format = "%" + options.fill;
  if (options.width >= 0) format += std::to_string(options.width);
  if (options.precision >= 0) format += "." + std::to_string(options.precision);
  return format;
}

// Sets the C locale for its lifetime, since printf uses the locale's decimal point.
class CLocaleScope {
 public:
  CLocaleScope() : before_(uselocale(c())) {}
  ~CLocaleScope() { uselocale(before_); }
  CLocaleScope(const CLocaleScope&) = delete;
  CLocaleScope& operator=(const CLocaleScope&) = delete;

 private:
  static locale_t c() {
    static const locale_t c = newlocale(LC_ALL_MASK, "C", nullptr);
    return c;
  }
  locale_t before_;
};

template <class T>
std::string printed(const std::string& format, T value) {
  const int size = std::snprintf(nullptr, 0, format.c_str(), value);
  std::string text(static_cast<size_t>(std::max(size, 0)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format.c_str(), value);
  text.pop_back();
  return text;
}

}  // namespace

Tensor regex_replace(const Tensor& input, const std::string& pattern, const std::string& rewrite,
                     bool replace_global) {
  const RE2 regex(pattern, RE2::Quiet);
  check_pattern(regex, "regex_replace");
  std::string wrong;
  check<InvalidArgument>(regex.CheckRewriteString(rewrite, &wrong),
                         "strings::regex_replace: \"{}\" is no rewrite of \"{}\": {}", rewrite,
                         printable(pattern), wrong);
  return map_strings<std::string>(input, "regex_replace", [&](std::string text) {
    if (replace_global) {
      RE2::GlobalReplace(&text, regex, rewrite);
    } else {
      RE2::Replace(&text, regex, rewrite);
    }
    return text;
  });
}

Tensor regex_full_match(const Tensor& input, const std::string& pattern) {
  const RE2 regex(pattern, RE2::Quiet);
  check_pattern(regex, "regex_full_match");
  return map_strings<bool>(input, "regex_full_match",
                           [&](const std::string& text) { return RE2::FullMatch(text, regex); });
}

Tensor to_number(const Tensor& input, DTypeLike out_type) {
  const DType dtype = out_type;
  if (dtype == DType::Float32) return numbers_of<float>(input);
  if (dtype == DType::Float64) return numbers_of<double>(input);
  if (dtype == DType::Int32) return numbers_of<int32_t>(input);
  check<InvalidArgument>(dtype == DType::Int64,
                         "strings::to_number: expected an out_type of float32, float64, int32 or "
                         "int64, got {}.",
                         to_string(dtype));
  return numbers_of<int64_t>(input);
}

Tensor as_string(const Tensor& input, const AsStringOptions& options) {
  check<InvalidArgument>(input.defined(), "strings::as_string: expected a tensor, got none.");
  if (input.dtype() == DType::String) return input;
  check_format(options, input.dtype());
  Tensor result = Tensor::empty(input.shape(), DType::String);
  auto place = result.mutable_data<std::string>().begin();
  const Tensor host = input.host();
  const CLocaleScope c_locale;
  dispatch_dtype(host.dtype(), [&](auto t) {
    using T = decltype(t);
    const std::string letter = options.scientific ? "e" : options.shortest ? "g" : "f";
    const std::string format = format_of(options);
    for (const T value : host.data<T>()) {
      if constexpr (std::is_same_v<T, bool>) {
        *place++ = value ? "true" : "false";
      } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
        *place++ = printed(format + "llu", static_cast<unsigned long long>(value));
      } else if constexpr (std::is_integral_v<T>) {
        *place++ = printed(format + "lld", static_cast<long long>(value));
      } else {
        *place++ = printed(format + letter, static_cast<double>(value));
      }
    }
  });
  return result;
}

}  // namespace strings

Tensor read_file(const std::string& filename) {
  const auto bytes = read_whole_file(filename);
  return Tensor::scalar(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->bytes()));
}

Tensor read_file(const Tensor& filename) { return read_file(filename.item<std::string>()); }

struct StaticHashTable::State {
  DType key_type = DType::String;
  Tensor values;  // followed by the default
  std::unordered_map<std::string, int64_t> text_rows;
  std::unordered_map<int64_t, int64_t> number_rows;

  auto& rows(const std::string&) { return text_rows; }
  auto& rows(int64_t) { return number_rows; }
  const auto& rows(const std::string&) const { return text_rows; }
  const auto& rows(int64_t) const { return number_rows; }
};

namespace {

DType key_type_of(const Tensor& keys) {
  const DType dtype = keys.dtype();
  check<InvalidArgument>(dtype == DType::String || dtype == DType::Int64 || dtype == DType::Int32,
                         "StaticHashTable: expected keys of string, int64 or int32, got {}.",
                         to_string(dtype));
  return dtype == DType::Int32 ? DType::Int64 : dtype;
}

// Calls `use` for each key, a string or an int64.
template <class F>
void each_key(const Tensor& keys, F use) {
  const Tensor host = keys.host();
  if (host.dtype() == DType::String) {
    for (const std::string& key : host.data<std::string>()) use(key);
  } else if (host.dtype() == DType::Int32) {
    for (const int32_t key : host.data<int32_t>()) use(int64_t{key});
  } else {
    for (const int64_t key : host.data<int64_t>()) use(key);
  }
}

template <class T>
void append_row(Tensor& table, const Tensor& column, const Tensor& last) {
  const auto from = column.data<T>();
  const auto end = std::copy(from.begin(), from.end(), table.mutable_data<T>().begin());
  *end = last.data<T>()[0];
}

// Returns `column` with one row appended.
Tensor appended(const Tensor& column, const Tensor& last) {
  Tensor table = Tensor::empty({column.num_elements() + 1}, column.dtype());
  if (column.dtype() == DType::String) {
    append_row<std::string>(table, column, last);
  } else {
    dispatch_dtype(column.dtype(), [&](auto t) { append_row<decltype(t)>(table, column, last); });
  }
  return table;
}

// A single value, converted to the table's type.
Tensor default_row(const Tensor& value, DType dtype) {
  const bool numbers = value.dtype() != DType::String && dtype != DType::String;
  check<InvalidArgument>(
      value.num_elements() == 1 && (value.dtype() == dtype || (value.is_weak() && numbers)),
      "StaticHashTable: expected a default_value of one element, {} as the "
      "values are, got {}.",
      to_string(dtype), value.to_string());
  if (value.dtype() == dtype) return value.host().strong().with_shape({1});
  return exact_scalar(value.weak_value(), dtype, "StaticHashTable: the default_value")
      .with_shape({1});
}

bool same_row(const Tensor& values, int64_t a, int64_t b) {
  if (values.dtype() == DType::String) {
    const auto texts = values.data<std::string>();
    return texts[static_cast<size_t>(a)] == texts[static_cast<size_t>(b)];
  }
  bool same = false;
  dispatch_dtype(values.dtype(), [&](auto t) {
    const auto numbers = values.data<decltype(t)>();
    same = numbers[static_cast<size_t>(a)] == numbers[static_cast<size_t>(b)];
  });
  return same;
}

}  // namespace

StaticHashTable::StaticHashTable(const Tensor& keys, const Tensor& values,
                                 const Tensor& default_value) {
  check<InvalidArgument>(keys.num_elements() == values.num_elements(),
                         "StaticHashTable: expected a value for each key, got {} values for {} "
                         "keys.",
                         values.num_elements(), keys.num_elements());
  auto state = std::make_shared<State>();
  state->key_type = key_type_of(keys);
  const Tensor column = values.host().strong().with_shape({values.num_elements()});
  const Tensor last = default_row(default_value, column.dtype());
  int64_t row = 0;
  each_key(keys, [&](const auto& key) {
    const auto added = state->rows(key).emplace(key, row);
    check<InvalidArgument>(added.second || same_row(column, added.first->second, row),
                           "StaticHashTable: the key {} comes twice, with different values.", key);
    ++row;
  });
  state->values = appended(column, last);
  state_ = std::move(state);
}

namespace {

// Calls `use` with each key and its row, in the order of rows.
template <class Keys, class Use>
void keys_by_row(const Keys& keys, Use use) {
  std::vector<std::pair<int64_t, const typename Keys::key_type*>> sorted;
  for (const auto& [key, row] : keys) sorted.emplace_back(row, &key);
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [row, key] : sorted) use(*key, row);
}

}  // namespace

void StaticHashTable::write(LinkWriter& link) const {
  std::vector<std::string> texts;
  std::vector<int64_t> numbers;
  std::vector<int64_t> rows;
  keys_by_row(state_->text_rows, [&](const std::string& key, int64_t row) {
    texts.push_back(key);
    rows.push_back(row);
  });
  keys_by_row(state_->number_rows, [&](int64_t key, int64_t row) {
    numbers.push_back(key);
    rows.push_back(row);
  });
  const bool of_texts = state_->key_type == DType::String;
  const int64_t last = state_->values.dim(0) - 1;
  link("host_function", "static_hash_table")(
      "keys", of_texts ? Tensor::from(texts) : Tensor::from(numbers))(
      "values", gather_rows(state_->values, rows))("default_value",
                                                   state_->values.rows(last, last + 1));
}

MapFunction read_hash_table(LinkReader& link) {
  const auto keys = link.get<Tensor>("keys");
  const auto values = link.get<Tensor>("values");
  const auto default_value = link.get<Tensor>("default_value");
  check<InvalidArgument>(keys.defined() && values.defined() && default_value.defined(),
                         "expected the keys, values and default_value of a table.");
  return map_function(StaticHashTable(keys, values, default_value));
}

int64_t StaticHashTable::size() const {
  return std::ssize(state_->text_rows) + std::ssize(state_->number_rows);
}

Tensor StaticHashTable::lookup(const Tensor& keys) const {
  check<InvalidArgument>(key_type_of(keys) == state_->key_type,
                         "StaticHashTable: expected keys of {}, as its own are, got {}.",
                         to_string(state_->key_type), to_string(keys.dtype()));
  const int64_t none = state_->values.dim(0) - 1;
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(keys.num_elements()));
  each_key(keys, [&](const auto& key) {
    const auto& known = std::as_const(*state_).rows(key);
    const auto at = known.find(key);
    rows.push_back(at == known.end() ? none : at->second);
  });
  return gather_rows(state_->values, rows).with_shape(keys.shape());
}

}  // namespace cornu::data
