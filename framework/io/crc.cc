// SPDX-License-Identifier: Apache-2.0
#include "framework/io/crc.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace cornu {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected
using Tables = std::array<std::array<uint32_t, 256>, 8>;

// Table k advances a byte that k more bytes follow.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
    tables[0][i] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t i = 0; i < 256; ++i) {
      tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 255];
    }
  }
  return tables;
}
constexpr Tables kTables = make_tables();

uint32_t with_tables(std::span<const std::byte> bytes, uint32_t crc) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    crc ^= static_cast<uint32_t>(at[0]) | static_cast<uint32_t>(at[1]) << 8 |
           static_cast<uint32_t>(at[2]) << 16 | static_cast<uint32_t>(at[3]) << 24;
    crc = kTables[7][crc & 255] ^ kTables[6][(crc >> 8) & 255] ^ kTables[5][(crc >> 16) & 255] ^
          kTables[4][crc >> 24] ^ kTables[3][at[4]] ^ kTables[2][at[5]] ^ kTables[1][at[6]] ^
          kTables[0][at[7]];
  }
  for (; left > 0; --left, ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 255];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t with_instruction(std::span<const std::byte> bytes,
                                                            uint32_t crc) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t left = bytes.size();
  uint64_t wide = crc;
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; left > 0; --left, ++at) crc = _mm_crc32_u8(crc, *at);
  return crc;
}

bool has_instruction() { return __builtin_cpu_supports("sse4.2"); }
#else
uint32_t with_instruction(std::span<const std::byte> bytes, uint32_t crc) {
  return with_tables(bytes, crc);
}

bool has_instruction() { return false; }
#endif

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t previous) {
  static const bool kFast = has_instruction();
  return ~(kFast ? with_instruction(bytes, ~previous) : with_tables(bytes, ~previous));
}

uint32_t mask_crc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8; }

}  // namespace cornu
