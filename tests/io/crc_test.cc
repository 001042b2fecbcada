// SPDX-License-Identifier: Apache-2.0
#include "framework/io/crc.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <numeric>
#include <string>
#include <vector>

namespace cornu {
namespace {

uint32_t bit_by_bit(std::span<const std::byte> bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78 : 0);
  }
  return ~crc;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST_CASE("crc32c gives the values of RFC 3720, B.4") {
  CHECK(crc32c(bytes_of("")) == 0);
  CHECK(crc32c(bytes_of("123456789")) == 0xE3069283);
  CHECK(crc32c(bytes_of(std::string(32, '\0'))) == 0x8A9136AA);
  CHECK(crc32c(bytes_of(std::string(32, '\xFF'))) == 0x62A8AB43);
  std::string up(32, ' ');
  std::iota(up.begin(), up.end(), '\0');
  CHECK(crc32c(bytes_of(up)) == 0x46DD794E);
  CHECK(crc32c(bytes_of(std::string(up.rbegin(), up.rend()))) == 0x113FDB5C);
}

TEST_CASE("crc32c is the same for any length, alignment and division") {
  std::vector<std::byte> bytes(200);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i * 7 + i);
  const std::span<const std::byte> all = bytes;
  for (size_t begin = 0; begin < 16; ++begin) {
    for (size_t size = 0; size < 100; ++size) {
      const auto part = all.subspan(begin, size);
      REQUIRE(crc32c(part) == bit_by_bit(part));
      REQUIRE(crc32c(part.subspan(size / 3), crc32c(part.first(size / 3))) == crc32c(part));
    }
  }
}

TEST_CASE("mask_crc32c gives what TFRecord files hold") {
  // For a record "abc" written by TensorFlow 2.21: its length as eight bytes, then its data.
  CHECK(mask_crc32c(crc32c(bytes_of(std::string("\x03\0\0\0\0\0\0\0", 8)))) == 0x0E4999B0);
  CHECK(mask_crc32c(crc32c(bytes_of("abc"))) == 0x21F1576E);
  CHECK(mask_crc32c(0) == 0xA282EAD8);
}

TEST_CASE("crc32 is zlib's for any length, alignment and division") {
  CHECK(crc32(bytes_of("123456789")) == 0xCBF43926);
  CHECK(crc32(bytes_of("")) == 0);
  std::vector<std::byte> bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i * 7 + i);
  const std::span<const std::byte> all = bytes;
  const auto reference = [](std::span<const std::byte> part) {
    return static_cast<uint32_t>(
        ::crc32_z(0, reinterpret_cast<const Bytef*>(part.data()), part.size()));
  };
  for (size_t begin = 0; begin < 20; ++begin) {
    for (size_t size = 0; size < 300; ++size) {
      REQUIRE(crc32(all.subspan(begin, size)) == reference(all.subspan(begin, size)));
    }
  }
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    REQUIRE(crc32(all.subspan(cut), crc32(all.first(cut))) == reference(all));
  }
}

}  // namespace
}  // namespace cornu
