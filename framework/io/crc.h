// SPDX-License-Identifier: Apache-2.0
// Checksums: of run states, TFRecord files and TensorBoard events; of zip archives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cornu {

// CRC-32C (Castagnoli; RFC 3720, appendix B.4) of `bytes`, or of what `previous` is the checksum of
// followed by `bytes`. Uses the CPU's instruction where there is one.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t previous = 0);

// CRC-32 (ISO 3309), in the same way.
uint32_t crc32(std::span<const std::byte> bytes, uint32_t previous = 0);

// The form that TFRecord stores, so that a checksum over data that contains checksums stays good.
uint32_t mask_crc32c(uint32_t crc);

}  // namespace cornu
