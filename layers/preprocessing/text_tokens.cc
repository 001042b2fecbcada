// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/text_tokens.h"

#include <algorithm>

namespace cornu::layers {
namespace {

constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";
constexpr std::string_view kPunctuation = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'";

}  // namespace

std::string standardized(std::string text, bool lower, bool strip_punctuation) {
  if (strip_punctuation) {
    std::erase_if(text, [](char c) { return kPunctuation.find(c) != std::string_view::npos; });
  }
  if (!lower) return text;
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

TokenRow words_of(std::string_view text) {
  TokenRow words;
  for (size_t at = 0;;) {
    at = text.find_first_not_of(kWhiteSpace, at);
    if (at == std::string_view::npos) return words;
    const size_t end = std::min(text.find_first_of(kWhiteSpace, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
}

TokenRow ngrams_of(const TokenRow& tokens, const std::vector<int64_t>& widths) {
  TokenRow grams;
  for (const int64_t wide : widths) {
    const auto width = static_cast<size_t>(wide);
    for (size_t begin = 0; begin + width <= tokens.size(); ++begin) {
      std::string gram = tokens[begin];
      for (size_t i = 1; i < width; ++i) gram += " " + tokens[begin + i];
      grams.push_back(std::move(gram));
    }
  }
  return grams;
}

std::vector<TokenRow> rows_of_tokens(const Tensor& tokens) {
  const auto length = static_cast<size_t>(tokens.dim(-1));
  const auto all = tokens.data<std::string>();
  std::vector<TokenRow> rows;
  for (size_t at = 0; at < all.size(); at += length) {
    const auto row = all.subspan(at, length);
    rows.emplace_back(row.begin(), row.end());
    while (!rows.back().empty() && rows.back().back().empty()) rows.back().pop_back();
  }
  // Without tokens, too, there are as many rows as given by the other axes.
  rows.resize(static_cast<size_t>(tokens.shape().slice(0, tokens.rank() - 1).num_elements()));
  return rows;
}

Tensor padded_rows(const std::vector<TokenRow>& rows, const Shape& leading) {
  size_t longest = 0;
  for (const TokenRow& row : rows) longest = std::max(longest, row.size());
  Tensor result = Tensor::empty(leading.concat({static_cast<int64_t>(longest)}), DType::String);
  auto place = result.mutable_data<std::string>().begin();
  for (const TokenRow& row : rows) {
    std::copy(row.begin(), row.end(), place);
    place += static_cast<std::ptrdiff_t>(longest);
  }
  return result;
}

}  // namespace cornu::layers
