// SPDX-License-Identifier: Apache-2.0
#include "data/readers/tf_record.h"

#include <algorithm>
#include <cstring>

#include "framework/core/error.h"
#include "framework/io/fuzzing.h"
#include "framework/io/tf_record.h"

namespace cornu::data {
namespace {

template <class T>
T number_at(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

}  // namespace

std::string TFRecordReader::place() const {
  const std::string number = number_ ? fmt::format("record {}", *number_) : "the record";
  return fmt::format("{}: {} at byte {}", file_.path(), number, start_);
}

void TFRecordReader::require_crc(std::string_view bytes, uint32_t stored, const char* what) const {
  const uint32_t found = tf_record_crc(bytes);
  if (found == stored || !kChecksumsMatter) return;  // before formatting the location
  raise<DataLoss>("{}: its {} is damaged: expected the checksum {:08x}, got {:08x}. {}", place(),
                  what, stored, found, advice_);
}

void TFRecordReader::truncated(uint64_t expected, uint64_t found) const {
  raise<DataLoss>("{}: the file is cut off: expected {} bytes, got {}.", place(), expected, found);
}

bool TFRecordReader::next_length(uint64_t& length) {
  start_ = file_.offset();
  if (!file_.need(kTfRecordHeader)) {
    if (file_.ahead().empty()) return false;
    truncated(kTfRecordHeader, file_.ahead().size());
  }
  const std::string_view header = file_.ahead().substr(0, kTfRecordHeader);
  require_crc(header.substr(0, 8), number_at<uint32_t>(header.data() + 8), "length");
  length = number_at<uint64_t>(header.data());
  file_.consume(kTfRecordHeader);
  // Check before reading anything for it.
  const auto left = file_.left();
  if (length > UINT64_MAX - kTfRecordFooter || (left && length + kTfRecordFooter > *left)) {
    truncated(std::min(length, UINT64_MAX - kTfRecordFooter) + kTfRecordFooter, left.value_or(0));
  }
  return true;
}

bool TFRecordReader::next(std::string& record) {
  uint64_t length = 0;
  if (!next_length(length)) return false;
  record.clear();
  uint32_t stored = 0;
  if (const size_t whole = length + kTfRecordFooter; file_.ahead().size() >= whole) {
    record.assign(file_.ahead().substr(0, length));
    stored = number_at<uint32_t>(file_.ahead().data() + length);
    file_.consume(whole);
  } else {
    const uint64_t got = file_.read(record, length);
    if (got < length || !file_.need(kTfRecordFooter)) truncated(whole, got + file_.ahead().size());
    stored = number_at<uint32_t>(file_.ahead().data());
    file_.consume(kTfRecordFooter);
  }
  require_crc(record, stored, "content");
  if (number_) ++*number_;
  return true;
}

bool TFRecordReader::skip() {
  uint64_t length = 0;
  if (!next_length(length)) return false;
  const uint64_t skipped = file_.skip(length + kTfRecordFooter);
  if (skipped < length + kTfRecordFooter) truncated(length + kTfRecordFooter, skipped);
  if (number_) ++*number_;
  return true;
}

Json TFRecordReader::position() const { return file_.position(number_.value_or(0)); }
void TFRecordReader::go_to(const Json& position) { number_ = file_.go_to(position); }

void TFRecordReader::seek(int64_t start) {
  file_.seek(start);
  number_.reset();
}

}  // namespace cornu::data
