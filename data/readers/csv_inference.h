// SPDX-License-Identifier: Apache-2.0
// What CSV files tell of their columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/readers/csv_columns.h"

namespace cornu::data {

// The fields of a file's first record. InvalidArgument when it is no list of them.
std::vector<std::string> csv_names(std::string_view header, CsvFormat format,
                                   const std::string& path, const char* who);

// A file's first record. InvalidArgument when there is none, or it is no list of different names.
std::vector<std::string> csv_header(CsvReader& reader, CsvFormat format, const char* who);

// The first of int32, int64, float32, float64 and string that all fields have which it was given.
class CsvTypeGuess {
 public:
  explicit CsvTypeGuess(std::string na_value) : na_value_(std::move(na_value)) {}
  void see(std::string_view field);
  // With a default of 0 or "".
  CsvDefault type() const;

 private:
  std::string na_value_;
  std::optional<size_t> type_;
};

}  // namespace cornu::data
