// SPDX-License-Identifier: Apache-2.0
// Infers column names and types from CSV files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/readers/csv_columns.h"

namespace cornu::data {

// The fields of a file's first record. Throws InvalidArgument when it is malformed.
std::vector<std::string> csv_names(std::string_view header, CsvFormat format,
                                   const std::string& path, const char* who);

// Reads a file's first record, the column names. Throws InvalidArgument when there is none, or when
// it is malformed.
std::vector<std::string> csv_header(CsvReader& reader, CsvFormat format, const char* who);

// The first of int32, int64, float32, float64 and string that fits all fields seen so far.
class CsvTypeGuess {
 public:
  explicit CsvTypeGuess(std::string na_value) : na_value_(std::move(na_value)) {}
  void see(std::string_view field);
  // The type with a default of 0 or "".
  CsvDefault type() const;

 private:
  std::string na_value_;
  std::optional<size_t> type_;
};

}  // namespace cornu::data
