// SPDX-License-Identifier: Apache-2.0
// Decodes the texts of protocol 0, and bytes before protocol 3.
#include <charconv>

#include "data/readers/pickle_parser.h"

namespace cornu::data {
namespace {

void append_utf8(std::string& out, uint32_t character) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | ((character >> shift) & 0x3f));
  };
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xc0 | character >> 6);
    tail(0);
  } else if (character < 0x10000) {
    out += static_cast<char>(0xe0 | character >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | character >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// The number represented by exactly `digits` hexadecimal digits at the beginning of `text`.
std::optional<uint32_t> hex_number(std::string_view text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value, 16);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> unescaped(std::string_view text) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (const size_t letter = kLetters.find(text[i]); letter != kLetters.npos) {
      out += kMeanings[letter];
    } else if (text[i] == 'x') {
      const auto value = hex_number(text.substr(i + 1), 2);
      if (!value) return std::nullopt;
      out += static_cast<char>(*value);
      i += 2;
    } else if (text[i] >= '0' && text[i] <= '7') {
      int value = 0;
      size_t digits = 0;
      for (; digits < 3 && i + digits < text.size(); ++digits) {
        const char digit = text[i + digits];
        if (digit < '0' || digit > '7') break;
        value = 8 * value + (digit - '0');
      }
      out += static_cast<char>(value);
      i += digits - 1;
    } else {
      out += '\\';  // as in Python
      out += text[i];
    }
  }
  return out;
}

std::optional<std::string> unescaped_unicode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == 'u' || text[i + 1] == 'U');
    if (!escape) {
      append_utf8(out, static_cast<uint8_t>(text[i]));
      // A second backslash doesn't start an escape.
      if (text[i] == '\\' && i + 1 < text.size()) append_utf8(out, static_cast<uint8_t>(text[++i]));
      continue;
    }
    const size_t digits = text[i + 1] == 'u' ? 4 : 8;
    const auto character = hex_number(text.substr(i + 2), digits);
    if (!character || *character > 0x10ffff) return std::nullopt;
    append_utf8(out, *character);
    i += 1 + digits;
  }
  return out;
}

std::optional<std::string> utf8_to_latin1(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<uint8_t>(text[i]);
    if (first < 0x80) {
      out += text[i];
      continue;
    }
    // U+0080 to U+00FF have two bytes.
    if (first != 0xc2 && first != 0xc3) return std::nullopt;
    if (++i == text.size() || (static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return std::nullopt;
    out += static_cast<char>((first & 0x03) << 6 | (static_cast<uint8_t>(text[i]) & 0x3f));
  }
  return out;
}

}  // namespace cornu::data
