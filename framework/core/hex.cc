// SPDX-License-Identifier: Apache-2.0
#include "framework/core/hex.h"

namespace cornu {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

std::string to_hex(std::span<const std::byte> bytes) {
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    digits += kHexDigits[std::to_integer<size_t>(byte >> 4)];
    digits += kHexDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
  return digits;
}

bool from_hex(std::string_view digits, std::span<std::byte> bytes) {
  if (digits.size() != 2 * bytes.size()) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t high = kHexDigits.find(digits[2 * i]);
    const size_t low = kHexDigits.find(digits[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes[i] = static_cast<std::byte>(16 * high + low);
  }
  return true;
}

}  // namespace cornu
