// SPDX-License-Identifier: Apache-2.0
// Texts to tokens. Internal: layers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::layers {

// Without characters that are ASCII punctuation, and with ASCII letters in lower case.
std::string standardized(std::string text, bool lower, bool strip_punctuation);

using TokenRow = std::vector<std::string>;
// Parts between white space, without empty ones.
TokenRow words_of(std::string_view text);
// Each run of `width` tokens, joined by spaces: for all of the first width, then of the next.
TokenRow ngrams_of(const TokenRow& tokens, const std::vector<int64_t>& widths);

// The last axis of a tensor of strings, row by row, without the empty strings at their ends.
std::vector<TokenRow> rows_of_tokens(const Tensor& tokens);
// (leading..., length of the longest), shorter rows filled up with "".
Tensor padded_rows(const std::vector<TokenRow>& rows, const Shape& leading);

}  // namespace cornu::layers
