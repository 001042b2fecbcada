// SPDX-License-Identifier: Apache-2.0
// The framing of records in TFRecord files and TensorBoard's event files: the length (8 bytes,
// little-endian), the length's masked crc32c (4), the record's bytes, and their masked crc32c (4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cornu {

inline constexpr size_t kTfRecordHeader = 12;  // bytes
inline constexpr size_t kTfRecordFooter = 4;

// The bytes before and after a record.
std::string tf_record_header(uint64_t length);
std::string tf_record_footer(std::string_view record);

// The masked crc32c of `bytes`.
uint32_t tf_record_crc(std::string_view bytes);

}  // namespace cornu
