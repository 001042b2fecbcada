// SPDX-License-Identifier: Apache-2.0
#include "framework/core/utf8.h"

#include <clocale>
#include <cwctype>

#include "framework/core/error.h"

namespace cornu {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool goes_on(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The next character, which is taken away.
char32_t take(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  if (first < 0x80) return first;
  const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  if (first < 0xC2 || first > 0xF4) return kReplacement;
  char32_t value = first & (0x3Fu >> more);
  for (size_t i = 0; i < more; ++i) {
    if (text.empty() || !goes_on(text.front())) return kReplacement;
    value = value << 6 | (static_cast<unsigned char>(text.front()) & 0x3Fu);
    text.remove_prefix(1);
  }
  constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  return value < kLeast[more] || value > 0x10FFFF || surrogate ? kReplacement : value;
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

// Letters of all languages, whatever the program's locale is.
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
    const bool says_so = text.starts_with("\xEF\xBF\xBD");  // U+FFFD itself
    if (take(text) == kReplacement && !says_so) return false;
  }
  return true;
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
