// SPDX-License-Identifier: Apache-2.0
// Tables in CSV files.
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

// A column's dtype (int32, int64, float32, float64, string) and what stands for an empty field:
// `0.5`, `Tensor::scalar(int64_t{0})`, `""`; or a dtype alone, where every field must have a value.
class CsvDefault {
 public:
  CsvDefault(DType required) : dtype_(required) {}  // NOLINT: implicit on purpose, as all here
  CsvDefault(const Tensor& value);                  // NOLINT: one element
  template <class T>
  requires std::is_arithmetic_v<T> CsvDefault(T value)  // NOLINT: double is float32, too
      : CsvDefault(Tensor::scalar(std::conditional_t<std::is_same_v<T, double>, float, T>(value))) {
  }
  CsvDefault(const char* value) : CsvDefault(std::string(value)) {}  // NOLINT
  CsvDefault(const std::string& value)                               // NOLINT
      : CsvDefault(Tensor::scalar(value)) {}

  DType dtype() const { return dtype_; }
  const Tensor& value() const { return value_; }  // a scalar; undefined: required

 private:
  DType dtype_;
  Tensor value_;
};

struct CsvOptions {
  std::string compression_type = "";        // or "GZIP", "ZLIB"
  std::optional<int64_t> buffer_size = {};  // bytes read at a time; none, 0: 256 KiB
  bool header = false;                      // the first record of each file is left out
  std::string field_delim = ",";            // one character
  bool use_quote_delim = true;  // fields in double quotes may hold delimiters and ends of lines
  std::string na_value = "";    // stands for an empty field, too
  // The columns to take (from 0, ascending), or those to leave out; none of both: all.
  OptionalList<int64_t> select_cols = {};
  OptionalList<int64_t> exclude_cols = {};
};

// A tuple of scalars for each record of the files, one for each column that is taken, of which
// `record_defaults` tells the types:
//
//   data::CsvDataset("points.csv", {DType::Float32, DType::Float32, "none"}, {.header = true})
//
// A UTF-8 byte order mark at a file's beginning is no part of the first field. InvalidArgument,
// while iterating, with the file, line and column, for a field that isn't of its type or is
// missing, for records of another number of fields, and for an empty file where a header is
// expected. skip() goes over records without parsing their fields. Reference:
// tf.data.experimental.CsvDataset, which keeps the mark.
Dataset CsvDataset(const FileNames& filenames, const std::vector<CsvDefault>& record_defaults,
                   const CsvOptions& options = {});

using CsvColumn = std::variant<int64_t, std::string>;  // by number (from 0), or by name

struct MakeCsvOptions {
  std::vector<std::string> column_names = {};  // empty: the header's, of all files
  // For each column, or for each selected one; empty: inferred.
  std::vector<CsvDefault> column_defaults = {};
  std::optional<std::string> label_name = {};
  std::vector<CsvColumn> select_columns = {};  // empty: all
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value = "";
  bool header = true;                      // each file begins with the columns' names
  std::optional<int64_t> num_epochs = {};  // None: without end, all batches full
  bool shuffle = true;                     // anew in each epoch
  int64_t shuffle_buffer_size = 10000;
  std::optional<int64_t> shuffle_seed = {};
  int64_t prefetch_buffer_size = kAutotune;
  std::optional<int64_t> num_parallel_reads = {};  // as TFRecordOptions'
  int64_t num_rows_for_inference = 100;            // 0: all of them
  std::string compression_type = "";
  bool ignore_errors = false;  // leave out what is wrong
  // Beyond tf.data: how many batches may be parsed at a time.
  std::optional<int64_t> num_parallel_calls = {};
};

// Batches of the tables in the files that match `file_pattern` (as Dataset::list_files has it, in
// the order of their names): a dictionary of the columns, each (batch_size), or the pair of it and
// the label's column. Records are shuffled as text, and parsed straight into the batches' columns;
// restoring a position parses none. Files whose headers name the columns must have the same one,
// which is looked at when each is opened: InvalidArgument else, naming the file and both.
//
// Types that aren't given are inferred of the first rows: int32, int64, float32, float64 or string,
// the first that all fields of a column have; empty ones become 0 or "". A UTF-8 byte order mark at
// a file's beginning is no part of the first column's name (in tf.data it is). InvalidArgument,
// with the file, line and column's name, for what doesn't fit; NotFound when nothing matches.
// Reference: tf.data.experimental.make_csv_dataset.
Dataset make_csv_dataset(const std::vector<std::string>& file_pattern, int64_t batch_size,
                         const MakeCsvOptions& options = {});
inline Dataset make_csv_dataset(const std::string& file_pattern, int64_t batch_size,
                                const MakeCsvOptions& options = {}) {
  return make_csv_dataset(std::vector<std::string>{file_pattern}, batch_size, options);
}

}  // namespace cornu::data
