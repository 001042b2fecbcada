// SPDX-License-Identifier: Apache-2.0
// Reads the records of TFRecord files (framework/io/tf_record.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/readers/input_file.h"
#include "framework/core/json.h"

namespace cornu::data {

// Throws the errors documented for TFRecordDataset. Must be used by one thread at a time.
class TFRecordReader {
 public:
  // `advice`: what to do about damaged records, for errors.
  TFRecordReader(const std::string& path, Compression compression,
                 const std::optional<int64_t>& buffer_size = {}, const char* advice = kAdvice)
      : file_(path, compression, buffer_size), advice_(advice) {}

  // Returns false at the end.
  bool next(std::string& record);
  // Skips a record without checking its bytes.
  bool skip();

  // The beginning of the next record: {"offset", "number"}. Null if the file is compressed.
  Json position() const;
  // For a new reader only. Throws DataLoss when there is no such position.
  void go_to(const Json& position);

  // The byte offset of the record that next() returned last.
  int64_t start() const { return static_cast<int64_t>(start_); }
  // Makes the next record the one that begins at this byte. Throws DataLoss when there is no such
  // offset, or when the file is compressed.
  void seek(int64_t start);

 private:
  static constexpr const char* kAdvice = "Is this a TFRecord file, and its compression_type right?";

  bool next_length(uint64_t& length);
  std::string place() const;
  void require_crc(std::string_view bytes, uint32_t stored, const char* what) const;
  [[noreturn]] void truncated(uint64_t expected, uint64_t found) const;

  InputFile file_;
  const char* advice_;
  std::optional<int64_t> number_ = 0;  // nullopt after a seek()
  uint64_t start_ = 0;                 // of the record
};

}  // namespace cornu::data
