// SPDX-License-Identifier: Apache-2.0
#include "data/strings.h"

#include <algorithm>

#include "data/readers/string_map.h"
#include "framework/core/utf8.h"

namespace cornu::data::strings {
namespace {

constexpr std::string_view kWhite = " \t\n\v\f\r";

void check_unit(const std::string& unit, const char* who) {
  check<InvalidArgument>(unit == "BYTE" || unit == "UTF8_CHAR",
                         "strings::{}: expected a unit of \"BYTE\" or \"UTF8_CHAR\", got \"{}\".",
                         who, unit);
}

// As in TensorFlow: the text after the last allowed split is the last part, whatever it contains.
std::vector<std::string_view> parts_at_white(std::string_view text, int64_t most) {
  std::vector<std::string_view> parts;
  const auto trim = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(kWhite), text.size()));
  };
  for (trim(); !text.empty();) {
    const size_t end = std::min(text.find_first_of(kWhite), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
    trim();
    if (std::ssize(parts) == most) {
      parts.push_back(text);
      break;
    }
  }
  return parts;
}

std::vector<std::string_view> parts_at(std::string_view text, std::string_view sep, int64_t most) {
  std::vector<std::string_view> parts;
  for (size_t at;
       (most < 0 || std::ssize(parts) < most) && (at = text.find(sep)) != std::string_view::npos;) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + sep.size());
  }
  parts.push_back(text);
  return parts;
}

// Applies `parts` to each string and puts the results along a new last axis, padded with "".
template <class F>
Tensor parts_of_each(const Tensor& input, const char* who, const F& parts) {
  std::vector<decltype(parts(std::string()))> rows;
  size_t most = 0;
  for (const std::string& text : strings_of(input, who)) {
    rows.push_back(parts(text));
    most = std::max(most, rows.back().size());
  }
  Tensor result = Tensor::empty(input.shape().concat({static_cast<int64_t>(most)}), DType::String);
  auto place = result.mutable_data<std::string>().begin();
  for (const auto& row : rows) {
    std::copy(row.begin(), row.end(), place);
    place += static_cast<std::ptrdiff_t>(most);
  }
  return result;
}

std::string changed_case(const std::string& text, const std::string& encoding, bool upper) {
  if (!encoding.empty()) return utf8_case(text, upper);
  std::string result = text;
  for (char& c : result) {
    if (upper ? (c >= 'a' && c <= 'z') : (c >= 'A' && c <= 'Z')) c = static_cast<char>(c ^ 0x20);
  }
  return result;
}

Tensor with_case(const Tensor& input, const std::string& encoding, bool upper, const char* who) {
  check<InvalidArgument>(encoding.empty() || encoding == "utf-8",
                         "strings::{}: expected an encoding of \"\" or \"utf-8\", got \"{}\".", who,
                         encoding);
  return map_strings<std::string>(
      input, who, [&](const std::string& text) { return changed_case(text, encoding, upper); });
}

}  // namespace

Tensor split(const Tensor& input, const SplitOptions& options) {
  return parts_of_each(input, "split", [&](const std::string& text) {
    if (options.maxsplit == 0) return std::vector<std::string_view>{text};
    if (options.sep.empty()) return parts_at_white(text, options.maxsplit);
    return parts_at(text, options.sep, options.maxsplit);
  });
}

Tensor unicode_split(const Tensor& input, const std::string& input_encoding) {
  check<InvalidArgument>(
      input_encoding == "UTF-8",
      "strings::unicode_split: expected an input_encoding of \"UTF-8\", got \"{}\".",
      input_encoding);
  return parts_of_each(input, "unicode_split",
                       [](const std::string& text) { return utf8_characters(text); });
}

Tensor lower(const Tensor& input, const std::string& encoding) {
  return with_case(input, encoding, false, "lower");
}
Tensor upper(const Tensor& input, const std::string& encoding) {
  return with_case(input, encoding, true, "upper");
}

Tensor strip(const Tensor& input) {
  return map_strings<std::string>(input, "strip", [](std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(kWhite), text.size()));
    return std::string(text.substr(0, text.find_last_not_of(kWhite) + 1));
  });
}

Tensor length(const Tensor& input, const std::string& unit) {
  check_unit(unit, "length");
  const bool bytes = unit == "BYTE";
  return map_strings<int32_t>(input, "length", [bytes](const std::string& text) {
    return static_cast<int32_t>(bytes ? std::ssize(text) : utf8_length(text));
  });
}

Tensor join(const std::vector<Tensor>& inputs, const JoinOptions& options) {
  check<InvalidArgument>(!inputs.empty(), "strings::join: expected strings, got none.");
  Shape shape;
  std::vector<std::span<const std::string>> texts;
  for (const Tensor& input : inputs) {
    texts.push_back(strings_of(input, "join"));
    if (input.rank() == 0) continue;
    check<InvalidArgument>(shape.rank() == 0 || shape == input.shape(),
                           "strings::join: expected strings of one shape, or scalars, got {} and "
                           "{}.",
                           shape.to_string(), input.shape().to_string());
    shape = input.shape();
  }
  Tensor result = Tensor::empty(shape, DType::String);
  const auto places = result.mutable_data<std::string>();
  for (size_t i = 0; i < places.size(); ++i) {
    for (size_t k = 0; k < texts.size(); ++k) {
      if (k > 0) places[i] += options.separator;
      places[i] += texts[k][inputs[k].rank() == 0 ? 0 : i];
    }
  }
  return result;
}

Tensor reduce_join(const Tensor& inputs, const ReduceJoinOptions& options) {
  const auto texts = strings_of(inputs, "reduce_join");
  const Shape& shape = inputs.shape();
  const int64_t rank = shape.rank();
  const int64_t given = options.axis.value_or(0);
  check<InvalidArgument>(!options.axis || (given >= -rank && given < rank),
                         "strings::reduce_join: expected an axis of {} to {}, got {}.", -rank,
                         rank - 1, given);
  const int64_t axis = given < 0 ? given + rank : given;
  // (before, along, behind); the axis in the middle is removed.
  int64_t before = 1, along = inputs.num_elements(), behind = 1;
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < rank; ++i) {
    const bool goes = !options.axis || i == axis;
    if (!goes) dims.push_back(shape[i]);
    if (goes && options.keepdims) dims.push_back(1);
    if (options.axis && i < axis) before *= shape[i];
    if (options.axis && i == axis) along = shape[i];
    if (options.axis && i > axis) behind *= shape[i];
  }
  Tensor result = Tensor::empty(Shape(dims), DType::String);
  const auto places = result.mutable_data<std::string>();
  for (int64_t i = 0; i < before * behind; ++i) {
    const int64_t first = i / behind * along * behind + i % behind;
    std::string& place = places[static_cast<size_t>(i)];
    for (int64_t k = 0; k < along; ++k) {
      if (k > 0) place += options.separator;
      place += texts[static_cast<size_t>(first + k * behind)];
    }
  }
  return result;
}

Tensor substr(const Tensor& input, int64_t pos, int64_t len, const std::string& unit) {
  check_unit(unit, "substr");
  check<InvalidArgument>(len >= 0, "strings::substr: expected a len of at least 0, got {}.", len);
  return map_strings<std::string>(input, "substr", [&](const std::string& text) {
    const int64_t size = unit == "BYTE" ? std::ssize(text) : utf8_length(text);
    check<InvalidArgument>(pos >= -size && pos <= size,
                           "strings::substr: expected a pos of {} to {} in \"{}\", got {}.", -size,
                           size, printable(text), pos);
    const int64_t begin = pos < 0 ? pos + size : pos;
    const int64_t end = begin + std::min(len, size - begin);
    if (unit == "BYTE") {
      return text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    }
    const size_t from = utf8_offset(text, begin);
    return text.substr(from, utf8_offset(text, end) - from);
  });
}

}  // namespace cornu::data::strings
