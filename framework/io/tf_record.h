// SPDX-License-Identifier: Apache-2.0
// How TFRecord files, and TensorBoard's files of events, hold a record: its length (8 bytes, the
// lowest first), the length's masked crc32c (4), the record's bytes, and their masked crc32c (4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cornu {

inline constexpr size_t kTfRecordHeader = 12;  // bytes
inline constexpr size_t kTfRecordFooter = 4;

// What stands before and after a record's bytes.
std::string tf_record_header(uint64_t length);
std::string tf_record_footer(std::string_view record);

// The masked crc32c of `bytes`.
uint32_t tf_record_crc(std::string_view bytes);

}  // namespace cornu
