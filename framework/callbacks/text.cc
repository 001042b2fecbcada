// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/text.h"

#include <fmt/format.h>

#include <cmath>

#include "framework/core/error.h"

namespace cornu::callbacks {
namespace {

std::string format_value(const FieldText::Value& value, const std::string& spec) {
  if (spec.empty() && std::holds_alternative<double>(value)) {
    return float_text(std::get<double>(value));
  }
  const std::string pattern = "{:" + spec + "}";
  // Python formats integers as floats if the format requires one.
  const bool as_float =
      !spec.empty() && std::string_view("eEfFgG").find(spec.back()) != std::string_view::npos;
  if (const int64_t* whole = std::get_if<int64_t>(&value)) {
    return as_float ? fmt::format(fmt::runtime(pattern), static_cast<double>(*whole))
                    : fmt::format(fmt::runtime(pattern), *whole);
  }
  return fmt::format(fmt::runtime(pattern), std::get<double>(value));
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";  // Python omits the sign
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

FieldText::FieldText(std::string who, const std::string& text) : who_(std::move(who)) {
  pieces_.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      pieces_.back().text += c;
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      pieces_.back().text += c;
      ++i;
    } else {
      const size_t end = c == '{' ? text.find('}', i) : std::string::npos;
      check<InvalidArgument>(end != std::string::npos,
                             "{}: '{}' has a '{}' without its other half. Write it twice to mean "
                             "the character.",
                             who_, text, c);
      const std::string field = text.substr(i + 1, end - i - 1);
      const size_t colon = std::min(field.find(':'), field.size());
      pieces_.back().name = field.substr(0, colon);
      pieces_.back().spec = colon < field.size() ? field.substr(colon + 1) : "";
      check<InvalidArgument>(!pieces_.back().name.empty(),
                             "{}: '{}' has a field without a name. Name an epoch's metric, for "
                             "example {{epoch:02d}} or {{val_loss:.2f}}.",
                             who_, text);
      check<InvalidArgument>(pieces_.back().name.find('!') == std::string::npos,
                             "{}: '{}' has the field {{{}}}, which asks for a conversion. Omit "
                             "everything from '!' on.",
                             who_, text, field);
      pieces_.emplace_back();
      i = end;
    }
  }
}

std::string FieldText::format(const Lookup& lookup) const {
  std::string result;
  for (const Piece& piece : pieces_) {
    result += piece.text;
    if (piece.name.empty()) continue;
    try {
      result += format_value(lookup(piece.name), piece.spec);
    } catch (const fmt::format_error& error) {
      raise<InvalidArgument>("{}: the format of {{{}:{}}} doesn't fit its value ({}).", who_,
                             piece.name, piece.spec, error.what());
    }
  }
  return result;
}

std::string FieldText::before_fields() const { return pieces_.front().text; }

}  // namespace cornu::callbacks
