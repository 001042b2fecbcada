// SPDX-License-Identifier: Apache-2.0
// Characters of UTF-8 text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cornu {

// Is it nothing but whole characters?
bool is_utf8(std::string_view text);
// Its characters, one after another. What is no UTF-8 becomes U+FFFD: each byte, or the bytes that
// a character begins with where it ends early (as ICU, and TensorFlow's unicode_split).
std::vector<std::string> utf8_characters(std::string_view text);
// The characters: bytes but those that go on with one, so that any bytes have a length.
int64_t utf8_length(std::string_view text);
// Where character `number` begins; the end of the text where there are no more.
size_t utf8_offset(std::string_view text, int64_t number);
// Each character with its simple case mapping (Unicode's, as the C library has it); what is no
// UTF-8 becomes U+FFFD.
std::string utf8_case(std::string_view text, bool upper);

}  // namespace cornu
