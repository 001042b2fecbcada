// SPDX-License-Identifier: Apache-2.0
// Characters of UTF-8 text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cornu {

// Whether the text consists of valid UTF-8 characters only.
bool is_utf8(std::string_view text);
// Splits the text into characters. Invalid UTF-8 becomes U+FFFD: one for each invalid byte, or for
// the bytes of a truncated character (like ICU, and TensorFlow's unicode_split).
std::vector<std::string> utf8_characters(std::string_view text);
// The number of characters: all bytes except continuation bytes, so that any byte string has a
// length.
int64_t utf8_length(std::string_view text);
// The offset at which character `number` begins; the end of the text when there are fewer
// characters.
size_t utf8_offset(std::string_view text, int64_t number);
// Applies the simple case mapping (Unicode's, as provided by the C library) to each character;
// invalid UTF-8 becomes U+FFFD.
std::string utf8_case(std::string_view text, bool upper);

}  // namespace cornu
