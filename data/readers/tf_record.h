// SPDX-License-Identifier: Apache-2.0
// Reading the records of TFRecord files (framework/io/tf_record.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/readers/input_file.h"
#include "framework/core/json.h"

namespace cornu::data {

// Errors as TFRecordDataset documents them. Used by one thread at a time.
class TFRecordReader {
 public:
  // `advice`: what to do about records that are damaged.
  TFRecordReader(const std::string& path, Compression compression,
                 const std::optional<int64_t>& buffer_size = {}, const char* advice = kAdvice)
      : file_(path, compression, buffer_size), advice_(advice) {}

  // False at the end.
  bool next(std::string& record);
  // Leaves one out, without a look at its bytes.
  bool skip();

  // Where the next record begins: {"offset", "number"}. Null where the file is compressed.
  Json position() const;
  // A new reader only. DataLoss when there is no such place.
  void go_to(const Json& position);

  // The byte where the record begins that next() gave last.
  int64_t start() const { return static_cast<int64_t>(start_); }
  // The next record is the one that begins at this byte. DataLoss when there is no such place, or
  // the file is compressed.
  void seek(int64_t start);

 private:
  static constexpr const char* kAdvice = "Is this a TFRecord file, and its compression_type right?";

  bool next_length(uint64_t& length);
  std::string place() const;
  void require_crc(std::string_view bytes, uint32_t stored, const char* what) const;
  [[noreturn]] void truncated(uint64_t expected, uint64_t found) const;

  InputFile file_;
  const char* advice_;
  std::optional<int64_t> number_ = 0;  // none behind a seek()
  uint64_t start_ = 0;                 // of the record
};

}  // namespace cornu::data
