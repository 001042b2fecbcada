// SPDX-License-Identifier: Apache-2.0
#include "framework/io/tf_record.h"

#include <bit>
#include <cstring>
#include <span>

#include "framework/io/crc.h"

namespace cornu {

static_assert(std::endian::native == std::endian::little);

uint32_t tf_record_crc(std::string_view bytes) {
  return mask_crc32c(crc32c(std::as_bytes(std::span(bytes.data(), bytes.size()))));
}

std::string tf_record_header(uint64_t length) {
  std::string header(kTfRecordHeader, '\0');
  std::memcpy(header.data(), &length, 8);
  const uint32_t crc = tf_record_crc(std::string_view(header).substr(0, 8));
  std::memcpy(header.data() + 8, &crc, 4);
  return header;
}

std::string tf_record_footer(std::string_view record) {
  std::string footer(kTfRecordFooter, '\0');
  const uint32_t crc = tf_record_crc(record);
  std::memcpy(footer.data(), &crc, 4);
  return footer;
}

}  // namespace cornu
