// SPDX-License-Identifier: Apache-2.0
// Fields of CSV records, on their way into the columns of a batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv.h"
#include "data/readers/csv_reader.h"

namespace cornu::data {

class LinkReader;
class LinkWriter;

// A number, as tf.data reads them: spaces around it and a '+' are allowed. False when it is none,
// or an integer that T hasn't.
bool parse_field(std::string_view field, int32_t& value);
bool parse_field(std::string_view field, int64_t& value);
bool parse_field(std::string_view field, float& value);
bool parse_field(std::string_view field, double& value);

// What to take of a record.
struct CsvLayout {
  struct Column {
    std::string name;  // for errors: "column 'age'" or "column 3"
    size_t field;      // its number in a record
    CsvDefault type;
  };

  CsvFormat format;
  std::string na_value;
  std::vector<Column> columns;  // by ascending field
  size_t fields = 0;            // that a record has; 0: what the last column needs, or more
};

// The types of columns as a link of a dataset has them.
void write_columns(LinkWriter& link, const std::vector<CsvDefault>& columns);
std::vector<CsvDefault> read_columns(LinkReader& link);

// InvalidArgument, naming `who`, for a column of another type than CSV files have.
void check_layout(const CsvLayout& layout, const char* who);

// The columns of a batch being made. Used by one thread.
class CsvColumns {
 public:
  // `layout` must outlive it. `shape`: () or (records).
  CsvColumns(const CsvLayout& layout, const Shape& shape);
  ~CsvColumns();

  // `place` tells where the record is, for errors.
  void add(std::string_view record, const std::function<std::string()>& place);
  std::vector<Tensor> finish();  // one for each column

 private:
  class Column;
  template <class T>
  class ColumnOf;

  const CsvLayout& layout_;
  std::vector<std::unique_ptr<Column>> columns_;
  size_t row_ = 0;
};

}  // namespace cornu::data
