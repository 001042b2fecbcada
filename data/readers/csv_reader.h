// SPDX-License-Identifier: Apache-2.0
// Reads the records of CSV files (RFC 4180) and their fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/readers/input_file.h"

namespace cornu::data {

struct CsvFormat {
  char delimiter = ',';
  bool quotes = true;  // double-quoted fields may contain delimiters, line breaks, and ""
};

// Converts tf.data's field_delim. Throws InvalidArgument, naming `who`, unless it is one character.
CsvFormat csv_format(const char* who, const std::string& field_delim, bool use_quote_delim);

// Records end with "\n", "\r\n" or "\r"; the last line end is optional. A UTF-8 byte order mark at
// the file's beginning is skipped. Must be used by one thread.
class CsvReader {
 public:
  CsvReader(const std::string& path, Compression compression, CsvFormat format,
            const std::optional<int64_t>& buffer_size = {})
      : file_(path, compression, buffer_size), format_(format) {}

  // Returns false at the end, and after damage. `record` is a view into the reader, valid until the
  // next call.
  bool next(std::string_view& record) {
    return until_damage_([&] { return read(record); });
  }
  // The number of the record's first line, from 1.
  int64_t line() const { return line_; }
  const std::string& path() const { return file_.path(); }

 private:
  bool read(std::string_view& record);
  void leave_out_mark();

  InputFile file_;
  UntilDamage until_damage_;
  CsvFormat format_;
  int64_t line_ = 0;
  int64_t next_line_ = 1;
};

// Iterates over the fields of a record.
class CsvFields {
 public:
  CsvFields(std::string_view record, CsvFormat format);

  // Returns false at the end, and if the record is malformed, see error(). `field` is a view into
  // the record or this object, valid until the next call.
  bool next(std::string_view& field);
  const char* error() const { return error_; }  // null: no error

 private:
  bool next_quoted(std::string_view& field);

  std::string_view rest_;
  CsvFormat format_;
  bool quoted_;  // the record contains quotes
  bool ended_ = false;
  const char* error_ = nullptr;
  std::string unquoted_;
};

}  // namespace cornu::data
