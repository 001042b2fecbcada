// SPDX-License-Identifier: Apache-2.0
// Parses fields of CSV records into the columns of a batch.
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

// Parses a number as tf.data does: surrounding spaces and a '+' are allowed. Returns false when it
// isn't a number, or is an integer out of T's range.
bool parse_field(std::string_view field, int32_t& value);
bool parse_field(std::string_view field, int64_t& value);
bool parse_field(std::string_view field, float& value);
bool parse_field(std::string_view field, double& value);

// Which fields of a record to read.
struct CsvLayout {
  struct Column {
    std::string name;  // for errors: "column 'age'" or "column 3"
    size_t field;      // its index in a record
    CsvDefault type;
  };

  CsvFormat format;
  std::string na_value;
  std::vector<Column> columns;  // sorted by field
  size_t fields = 0;            // number of fields in a record; 0: at least as many as the last
                                // column needs
};

// Serialize the columns' types as part of a link.
void write_columns(LinkWriter& link, const std::vector<CsvDefault>& columns);
std::vector<CsvDefault> read_columns(LinkReader& link);

// Throws InvalidArgument, naming `who`, for a column with a type that CSV files don't support.
void check_layout(const CsvLayout& layout, const char* who);

// Builds the columns of a batch. Must be used by one thread.
class CsvColumns {
 public:
  // `layout` must outlive it. `shape`: () or (records).
  CsvColumns(const CsvLayout& layout, const Shape& shape);
  ~CsvColumns();

  // `place` returns the record's location, for errors.
  void add(std::string_view record, const std::function<std::string()>& place);
  std::vector<Tensor> finish();  // one per column

 private:
  class Column;
  template <class T>
  class ColumnOf;

  const CsvLayout& layout_;
  std::vector<std::unique_ptr<Column>> columns_;
  size_t row_ = 0;
};

}  // namespace cornu::data
