// SPDX-License-Identifier: Apache-2.0
#include "framework/io/crc.h"

#include <zlib.h>

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

namespace cornu {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected
using Tables = std::array<std::array<uint32_t, 256>, 8>;

// Table k advances a byte that is followed by k more bytes.
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

// CRC-32 of at least 64 bytes, a multiple of 16, by carry-less multiplication: "Fast CRC
// Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009), with reflected
// bits. Each constant is a power of x modulo the polynomial; the exponents are the distances in
// bits by which a register is folded.
__attribute__((target("sse4.1,pclmul"))) __m128i fold(__m128i x, __m128i by, __m128i onto) {
  const __m128i low = _mm_clmulepi64_si128(x, by, 0x00);
  const __m128i high = _mm_clmulepi64_si128(x, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

__attribute__((target("sse4.1,pclmul"))) uint32_t crc32_by_products(
    std::span<const std::byte> bytes, uint32_t crc) {
  const __m128i by_512 = _mm_set_epi64x(0x01C6E41596, 0x0154442BD4);
  const __m128i by_128 = _mm_set_epi64x(0x00CCAA009E, 0x01751997D0);
  const __m128i by_64 = _mm_set_epi64x(0, 0x0163CD6124);
  const __m128i polynomial = _mm_set_epi64x(0x01F7011641, 0x01DB710641);  // and its inverse
  const __m128i low_half = _mm_setr_epi32(~0, 0, ~0, 0);
  const auto* at = reinterpret_cast<const __m128i*>(bytes.data());
  size_t left = bytes.size() / 16;
  __m128i x[4];
  for (int i = 0; i < 4; ++i) x[i] = _mm_loadu_si128(at++);
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(static_cast<int>(crc)));
  for (left -= 4; left >= 4; left -= 4) {
    for (int i = 0; i < 4; ++i) x[i] = fold(x[i], by_512, _mm_loadu_si128(at++));
  }
  for (int i = 1; i < 4; ++i) x[0] = fold(x[0], by_128, x[i]);
  for (; left > 0; --left) x[0] = fold(x[0], by_128, _mm_loadu_si128(at++));
  // Reduces 128 bits to 96, then 64, then 32.
  __m128i y = _mm_xor_si128(_mm_srli_si128(x[0], 8), _mm_clmulepi64_si128(x[0], by_128, 0x10));
  y = _mm_xor_si128(_mm_srli_si128(y, 4),
                    _mm_clmulepi64_si128(_mm_and_si128(y, low_half), by_64, 0x00));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(y, low_half), polynomial, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_half), polynomial, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(y, quotient), 1));
}

bool has_products() { return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("pclmul"); }
#else
uint32_t crc32_by_products(std::span<const std::byte>, uint32_t crc) { return crc; }

bool has_products() { return false; }

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

uint32_t crc32(std::span<const std::byte> bytes, uint32_t previous) {
  static const bool kFast = has_products();
  constexpr size_t kMin = 64, kUnit = 16;
  if (kFast && bytes.size() >= kMin) {
    const size_t whole = bytes.size() / kUnit * kUnit;
    previous = ~crc32_by_products(bytes.first(whole), ~previous);
    bytes = bytes.subspan(whole);
  }
  return static_cast<uint32_t>(
      crc32_z(previous, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

uint32_t mask_crc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8; }

}  // namespace cornu
