// SPDX-License-Identifier: Apache-2.0
#include "data/readers/csv_inference.h"

#include <array>

#include "framework/core/strings.h"

namespace cornu::data {
namespace {

template <class T>
bool reads_as_integer(std::string_view field) {
  T value;
  return parse_field(field, value);
}

// As in tf.data: a number in Python's syntax (0x10 isn't one) that is less than infinity (so inf
// and nan make the column's type string, but -inf doesn't).
template <class T>
bool reads_as_number(std::string_view field) {
  double value;
  if (field.find_first_of("xX(") != std::string_view::npos || !parse_field(field, value)) {
    return false;
  }
  return static_cast<T>(value) < std::numeric_limits<T>::infinity();
}

constexpr std::array kGuesses = {&reads_as_integer<int32_t>, &reads_as_integer<int64_t>,
                                 &reads_as_number<float>, &reads_as_number<double>};

}  // namespace

std::vector<std::string> csv_names(std::string_view header, CsvFormat format,
                                   const std::string& path, const char* who) {
  CsvFields fields(header, format);
  std::vector<std::string> names;
  for (std::string_view name; fields.next(name);) names.emplace_back(name);
  check<InvalidArgument>(!fields.error(), "{}: {}, line 1: {}: \"{}\".", who, path,
                         fields.error() ? fields.error() : "", printable(header));
  return names;
}

std::vector<std::string> csv_header(CsvReader& reader, CsvFormat format, const char* who) {
  std::string_view record;
  check<InvalidArgument>(reader.next(record),
                         "{}: {} is empty: expected a header with the columns' names. Give "
                         "column_names and header = false, where there is none.",
                         who, reader.path());
  return csv_names(record, format, reader.path(), who);
}

void CsvTypeGuess::see(std::string_view field) {
  if (field.empty() || field == na_value_) return;
  size_t type = type_.value_or(0);
  while (type < kGuesses.size() && !kGuesses[type](field)) ++type;
  type_ = type;
}

CsvDefault CsvTypeGuess::type() const {
  switch (type_.value_or(kGuesses.size())) {
    case 0:
      return Tensor::scalar(int32_t{0});
    case 1:
      return Tensor::scalar(int64_t{0});
    case 2:
      return Tensor::scalar(0.0f);
    case 3:
      return Tensor::scalar(0.0);
    default:
      return "";
  }
}

}  // namespace cornu::data
