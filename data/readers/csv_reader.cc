// SPDX-License-Identifier: Apache-2.0
#include "data/readers/csv_reader.h"

#include <algorithm>
#include <cstring>

#include "framework/core/error.h"

namespace cornu::data {
namespace {

constexpr size_t kNone = std::string_view::npos;

bool has(std::string_view text, char wanted) {
  return !text.empty() && std::memchr(text.data(), wanted, text.size()) != nullptr;
}

// The first '\n' or '\r' at or after `from`.
size_t line_end(std::string_view text, size_t from) {
  const size_t newline = text.find('\n', from);
  const size_t before = newline == kNone ? text.size() : newline;
  const size_t other = text.substr(0, before).find('\r', from);
  return other == kNone ? newline : other;
}

// The offset after the quote that closes the field open at `from`; kNone if there is none.
size_t quote_end(std::string_view text, size_t from) {
  for (size_t at = from;;) {
    at = text.find('"', at);
    if (at == kNone) return kNone;
    if (at + 1 == text.size() || text[at + 1] != '"') return at + 1;
    at += 2;
  }
}

// The end of the record at the beginning of `text`; kNone if `text` doesn't contain its end.
size_t record_end(std::string_view text, CsvFormat format) {
  size_t end = line_end(text, 0);
  if (!format.quotes || !has(text.substr(0, end), '"')) return end;
  for (size_t field = 0;;) {
    size_t from = field;
    if (field < text.size() && text[field] == '"') {
      from = quote_end(text, field + 1);
      if (from == kNone) return kNone;
    }
    if (end != kNone && end < from) end = line_end(text, from);
    const size_t delimiter = text.find(format.delimiter, from);
    if (delimiter == kNone || delimiter >= end) return end;
    field = delimiter + 1;
  }
}

}  // namespace

CsvFormat csv_format(const char* who, const std::string& field_delim, bool use_quote_delim) {
  check<InvalidArgument>(field_delim.size() == 1 && !has("\"\r\n", field_delim[0]),
                         "{}: expected a field_delim of one character, no quote and no end of a "
                         "line, got \"{}\".",
                         who, field_delim);
  return {field_delim[0], use_quote_delim};
}

void CsvReader::leave_out_mark() {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  file_.need(kMark.size());
  if (file_.ahead().starts_with(kMark)) file_.consume(kMark.size());
}

bool CsvReader::read(std::string_view& record) {
  if (file_.offset() == 0) leave_out_mark();
  size_t end = record_end(file_.ahead(), format_);
  bool last = false;
  // A '\r' may be the first half of "\r\n".
  while (!last && (end == kNone || end + 1 == file_.ahead().size())) {
    if (end != kNone && file_.ahead()[end] == '\n') break;
    last = !file_.need(std::max<size_t>(1, 2 * file_.ahead().size()));
    end = record_end(file_.ahead(), format_);
    if (last && end == kNone) end = file_.ahead().size();
  }
  const std::string_view ahead = file_.ahead();
  if (ahead.empty()) return false;
  record = ahead.substr(0, end);
  line_ = next_line_;
  next_line_ += 1 + (has(record, '\n') ? std::count(record.begin(), record.end(), '\n') : 0);
  const bool two = ahead.substr(end).starts_with("\r\n");
  file_.consume(std::min(ahead.size(), end + (two ? 2 : 1)));
  return true;
}

CsvFields::CsvFields(std::string_view record, CsvFormat format)
    : rest_(record), format_(format), quoted_(format.quotes && has(record, '"')) {}

bool CsvFields::next(std::string_view& field) {
  if (ended_) return false;
  if (quoted_ && rest_.starts_with('"')) return next_quoted(field);
  const size_t end = rest_.find(format_.delimiter);
  field = rest_.substr(0, end);
  ended_ = end == kNone;
  if (!ended_) rest_.remove_prefix(end + 1);
  if (quoted_ && has(field, '"')) error_ = "a field that isn't quoted has a quote in it";
  return !error_;
}

bool CsvFields::next_quoted(std::string_view& field) {
  const size_t end = quote_end(rest_, 1);
  ended_ = true;
  if (end == kNone) {
    error_ = "a quoted field doesn't end";
    return false;
  }
  field = rest_.substr(1, end - 2);
  if (has(field, '"')) {
    unquoted_.clear();
    for (size_t i = 0; i < field.size(); i += field[i] == '"' ? 2 : 1) unquoted_ += field[i];
    field = unquoted_;
  }
  rest_.remove_prefix(end);
  if (rest_.empty()) return true;
  ended_ = false;
  if (rest_.front() != format_.delimiter) error_ = "a quoted field is followed by something else";
  rest_.remove_prefix(1);
  return !error_;
}

}  // namespace cornu::data
