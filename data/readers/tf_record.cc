// SPDX-License-Identifier: Apache-2.0
#include "data/readers/tf_record.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "framework/core/error.h"
#include "framework/io/crc.h"
#include "framework/io/fuzzing.h"

namespace cornu::data {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class T>
T number_at(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

uint32_t masked_crc(std::string_view bytes) {
  return mask_crc32c(crc32c(std::as_bytes(std::span(bytes.data(), bytes.size()))));
}

}  // namespace

std::string TFRecordReader::place() const {
  return fmt::format("{}: record {} at byte {}", file_.path(), number_, start_);
}

void TFRecordReader::require_crc(std::string_view bytes, uint32_t stored, const char* what) const {
  const uint32_t found = masked_crc(bytes);
  if (found == stored || !kChecksumsMatter) return;  // before a place is made into text
  raise<DataLoss>("{}: its {} is damaged: expected the checksum {:08x}, got {:08x}. {}", place(),
                  what, stored, found, advice_);
}

void TFRecordReader::truncated(uint64_t expected, uint64_t found) const {
  raise<DataLoss>("{}: the file is cut off: expected {} bytes, got {}.", place(), expected, found);
}

bool TFRecordReader::next_length(uint64_t& length) {
  start_ = file_.offset();
  if (!file_.need(kHeader)) {
    if (file_.ahead().empty()) return false;
    truncated(kHeader, file_.ahead().size());
  }
  const std::string_view header = file_.ahead().substr(0, kHeader);
  require_crc(header.substr(0, 8), number_at<uint32_t>(header.data() + 8), "length");
  length = number_at<uint64_t>(header.data());
  file_.consume(kHeader);
  // Before anything is read for it.
  const auto left = file_.left();
  if (length > UINT64_MAX - kFooter || (left && length + kFooter > *left)) {
    truncated(std::min(length, UINT64_MAX - kFooter) + kFooter, left.value_or(0));
  }
  return true;
}

bool TFRecordReader::next(std::string& record) {
  uint64_t length = 0;
  if (!next_length(length)) return false;
  record.clear();
  uint32_t stored = 0;
  if (const size_t whole = length + kFooter; file_.ahead().size() >= whole) {
    record.assign(file_.ahead().substr(0, length));
    stored = number_at<uint32_t>(file_.ahead().data() + length);
    file_.consume(whole);
  } else {
    const uint64_t got = file_.read(record, length);
    if (got < length || !file_.need(kFooter)) truncated(whole, got + file_.ahead().size());
    stored = number_at<uint32_t>(file_.ahead().data());
    file_.consume(kFooter);
  }
  require_crc(record, stored, "content");
  ++number_;
  return true;
}

bool TFRecordReader::skip() {
  uint64_t length = 0;
  if (!next_length(length)) return false;
  const uint64_t skipped = file_.skip(length + kFooter);
  if (skipped < length + kFooter) truncated(length + kFooter, skipped);
  ++number_;
  return true;
}

Json TFRecordReader::position() const { return file_.position(number_); }
void TFRecordReader::go_to(const Json& position) { number_ = file_.go_to(position); }

std::string tf_record_header(uint64_t length) {
  std::string header(TFRecordReader::kHeader, '\0');
  std::memcpy(header.data(), &length, 8);
  const uint32_t crc = masked_crc(std::string_view(header).substr(0, 8));
  std::memcpy(header.data() + 8, &crc, 4);
  return header;
}

std::string tf_record_footer(std::string_view record) {
  std::string footer(TFRecordReader::kFooter, '\0');
  const uint32_t crc = masked_crc(record);
  std::memcpy(footer.data(), &crc, 4);
  return footer;
}

}  // namespace cornu::data
