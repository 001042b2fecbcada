// SPDX-License-Identifier: Apache-2.0
// Datasets of CSV files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "data/dataset.h"
#include "data/file_names.h"
#include "framework/core/optional_list.h"

namespace cornu::data {

// A column's dtype (int32, int64, float32, float64, string) and the value of empty fields: `0.5`,
// `Tensor::scalar(int64_t{0})`, `""`; or only a dtype, if every field must have a value.
class CsvDefault {
 public:
  CsvDefault(DType required) : dtype_(required) {}  // NOLINT: implicit on purpose, like all here
  CsvDefault(const Tensor& value);                  // NOLINT: one element
  template <class T>
  requires std::is_arithmetic_v<T> CsvDefault(T value)  // NOLINT: double is float32, too
      : CsvDefault(Tensor::scalar(std::conditional_t<std::is_same_v<T, double>, float, T>(value))) {
  }
  CsvDefault(const char* value) : CsvDefault(std::string(value)) {}  // NOLINT
  CsvDefault(const std::string& value)                               // NOLINT
      : CsvDefault(Tensor::scalar(value)) {}

  DType dtype() const { return dtype_; }
  const Tensor& value() const { return value_; }  // a scalar; undefined: the field is required

 private:
  DType dtype_;
  Tensor value_;
};

struct CsvOptions {
  std::string compression_type = "";        // or "GZIP", "ZLIB"
  std::optional<int64_t> buffer_size = {};  // bytes read at a time; nullopt or 0: 256 KiB
  bool header = false;                      // skip the first record of each file
  std::string field_delim = ",";            // one character
  bool use_quote_delim = true;  // double-quoted fields may contain delimiters and line breaks
  std::string na_value = "";    // a text that counts as an empty field, too
  // The columns to read (from 0, ascending), or those to skip; if neither is set: all.
  OptionalList<int64_t> select_cols = {};
  OptionalList<int64_t> exclude_cols = {};
};

// Yields a tuple of scalars for each record of the files, one scalar per selected column, with the
// types in `record_defaults`:
//
//   data::CsvDataset("points.csv", {DType::Float32, DType::Float32, "none"}, {.header = true})
//
// A UTF-8 byte order mark at the beginning of a file isn't part of the first field. While
// iterating, throws InvalidArgument, with the file, line and column, for a field that is missing or
// has the wrong type, for records with a different number of fields, and for an empty file if a
// header is expected. skip() skips records without parsing their fields. Reference:
// tf.data.experimental.CsvDataset, which keeps the byte order mark.
Dataset CsvDataset(const FileNames& filenames, const std::vector<CsvDefault>& record_defaults,
                   const CsvOptions& options = {});

using CsvColumn = std::variant<int64_t, std::string>;  // by number (from 0), or by name

struct MakeCsvOptions {
  std::vector<std::string> column_names = {};  // empty: read from the headers of all files
  // One per column, or per selected column; empty: inferred.
  std::vector<CsvDefault> column_defaults = {};
  std::optional<std::string> label_name = {};
  std::vector<CsvColumn> select_columns = {};  // empty: all
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value = "";
  bool header = true;                      // each file begins with the column names
  std::optional<int64_t> num_epochs = {};  // nullopt: endless, all batches are full
  bool shuffle = true;                     // in a new order in each epoch
  int64_t shuffle_buffer_size = 10000;
  std::optional<int64_t> shuffle_seed = {};
  int64_t prefetch_buffer_size = kAutotune;
  std::optional<int64_t> num_parallel_reads = {};  // see TFRecordOptions
  int64_t num_rows_for_inference = 100;            // 0: all of them
  std::string compression_type = "";
  bool ignore_errors = false;  // skip records with errors
  // Not in tf.data: how many batches may be parsed at a time.
  std::optional<int64_t> num_parallel_calls = {};
};

// Batches of the records in the files that match `file_pattern` (see Dataset::list_files), in the
// order of their names: a dictionary of the columns, each (batch_size), or a pair of that
// dictionary and the label column. Records are shuffled as text and parsed directly into the
// batches' columns; restoring a position parses none. Files whose headers name the columns must all
// have the same header; it is checked when a file is opened, which throws InvalidArgument, naming
// the file and both headers, when they differ.
//
// Types that aren't given are inferred from the first rows: the first of int32, int64, float32,
// float64 and string that fits all fields of a column; empty fields become 0 or "". A UTF-8 byte
// order mark at the beginning of a file isn't part of the first column's name (in tf.data it is).
// Throws InvalidArgument, with the file, line and column name, for fields that don't fit; NotFound
// when nothing matches. Reference: tf.data.experimental.make_csv_dataset.
Dataset make_csv_dataset(const std::vector<std::string>& file_pattern, int64_t batch_size,
                         const MakeCsvOptions& options = {});
inline Dataset make_csv_dataset(const std::string& file_pattern, int64_t batch_size,
                                const MakeCsvOptions& options = {}) {
  return make_csv_dataset(std::vector<std::string>{file_pattern}, batch_size, options);
}

}  // namespace cornu::data
