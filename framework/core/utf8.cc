// SPDX-License-Identifier: Apache-2.0
#include "framework/core/utf8.h"

#include <clocale>
#include <cwctype>

#include "framework/core/error.h"

namespace cornu {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool goes_on(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

struct Piece {
  size_t length = 1;
  bool whole = false;
};

// The first character of a text; or the longest valid part of a truncated one, which becomes a
// single U+FFFD (Unicode 3.9: table 3-7 and "U+FFFD substitution of maximal subparts").
Piece first_piece(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, true};
  if (first < 0xC2 || first > 0xF4) return {1, false};
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;  // of the second byte
  unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < size; ++i) {
    const unsigned byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    if (byte < least || byte > most) return {i, false};
    least = 0x80;
    most = 0xBF;
  }
  return {size, true};
}

// Removes and returns the next character.
char32_t take(std::string_view& text) {
  const auto [length, whole] = first_piece(text);
  const std::string_view bytes = text.substr(0, length);
  text.remove_prefix(length);
  if (!whole) return kReplacement;
  char32_t value = static_cast<unsigned char>(bytes[0]);
  if (length > 1) value &= 0x7Fu >> length;
  for (const char c : bytes.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  return value;
}

void put(std::string& text, char32_t value) {
  if (value < 0x80) {
    text += static_cast<char>(value);
    return;
  }
  const int more = value >= 0x10000 ? 3 : value >= 0x800 ? 2 : 1;
  constexpr unsigned kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kFirst[more] | (value >> (6 * more)));
  for (int i = more; i-- > 0;) text += static_cast<char>(0x80u | (value >> (6 * i) & 0x3Fu));
}

// Letters of all languages, regardless of the program's locale.
locale_t unicode() {
  static const locale_t locale = [] {
    for (const char* name : {"C.UTF-8", "C.utf8", "en_US.UTF-8"}) {
      if (const locale_t made = newlocale(LC_CTYPE_MASK, name, nullptr)) return made;
    }
    raise<Unimplemented>(
        "strings: the C library has no locale C.UTF-8, which encoding \"utf-8\" needs.");
  }();
  return locale;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    if (!piece.whole) return false;
    text.remove_prefix(piece.length);
  }
  return true;
}

std::vector<std::string> utf8_characters(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    characters.emplace_back(piece.whole ? text.substr(0, piece.length) : "\xEF\xBF\xBD");
    text.remove_prefix(piece.length);
  }
  return characters;
}

int64_t utf8_length(std::string_view text) {
  int64_t count = 0;
  for (const char c : text) count += !goes_on(c);
  return count;
}

size_t utf8_offset(std::string_view text, int64_t number) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (!goes_on(text[i]) && number-- == 0) return i;
  }
  return text.size();
}

std::string utf8_case(std::string_view text, bool upper) {
  const locale_t locale = unicode();
  std::string result;
  while (!text.empty()) {
    const auto letter = static_cast<wint_t>(take(text));
    put(result,
        static_cast<char32_t>(upper ? towupper_l(letter, locale) : towlower_l(letter, locale)));
  }
  return result;
}

}  // namespace cornu
