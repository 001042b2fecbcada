// SPDX-License-Identifier: Apache-2.0
// Checksums used by run states, TFRecord files, TensorBoard events and zip archives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cornu {

// CRC-32C (Castagnoli; RFC 3720, appendix B.4) of `bytes`, or, if `previous` is the checksum of
// preceding data, of that data followed by `bytes`. Uses the CPU's instruction if available.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t previous = 0);

// CRC-32 (ISO 3309), with the same parameters.
uint32_t crc32(std::span<const std::byte> bytes, uint32_t previous = 0);

// The masked form stored in TFRecord files, which avoids problems with checksums of data that
// contains checksums.
uint32_t mask_crc32c(uint32_t crc);

}  // namespace cornu
