// SPDX-License-Identifier: Apache-2.0
// Splits texts into tokens. Internal: layers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::layers {

// Optionally removes ASCII punctuation and converts ASCII letters to lower case.
std::string standardized(std::string text, bool lower, bool strip_punctuation);

using TokenRow = std::vector<std::string>;
// Splits at white space, dropping empty parts.
TokenRow words_of(std::string_view text);
// Returns each run of `width` tokens, joined by spaces: all those of the first width, then of the
// next.
TokenRow ngrams_of(const TokenRow& tokens, const std::vector<int64_t>& widths);

// Returns the last axis of a tensor of strings, row by row, without trailing empty strings.
std::vector<TokenRow> rows_of_tokens(const Tensor& tokens);
// Returns (leading..., length of the longest row), with shorter rows padded with "".
Tensor padded_rows(const std::vector<TokenRow>& rows, const Shape& leading);

}  // namespace cornu::layers
