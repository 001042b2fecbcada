// SPDX-License-Identifier: Apache-2.0
#include "framework/core/strings.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "framework/core/ascii.h"
#include "framework/core/error.h"

namespace cornu {
namespace {

// Counts characters to insert, delete, replace or swap with their neighbor, ignoring case.
size_t edit_distance(std::string_view a, std::string_view b) {
  auto same = [&](size_t i, size_t j) { return ascii::to_lower(a[i]) == ascii::to_lower(b[j]); };
  std::vector<size_t> before(b.size() + 1);  // rows i - 2, i - 1 and i of the table
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (same(i - 1, j - 1) ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row.back();
}

bool has_upper(std::string_view text) {
  return std::any_of(text.begin(), text.end(), ascii::is_upper);
}

}  // namespace

std::vector<std::string> all_nearest(std::string_view name, std::span<const std::string> known) {
  constexpr size_t kLongest = 64;  // the time grows quadratically with the length
  constexpr size_t kMax = 3;
  std::vector<std::string> best;
  size_t best_distance = std::max<size_t>(1, name.size() / 2);
  if (name.size() > kLongest) return {};
  for (const std::string& candidate : known) {
    const size_t longer = std::max(name.size(), candidate.size());
    const size_t shorter = std::min(name.size(), candidate.size());
    if (longer > kLongest || longer - shorter > best_distance) continue;
    const size_t distance = edit_distance(name, candidate);
    if (distance > best_distance) continue;
    if (distance < best_distance) best.clear();
    best_distance = distance;
    const auto same = std::find_if(best.begin(), best.end(), [&](const std::string& other) {
      return edit_distance(other, candidate) == 0;
    });
    if (same == best.end()) {
      if (best.size() < kMax) best.push_back(candidate);
    } else if (has_upper(candidate) == has_upper(name)) {
      *same = candidate;  // of two that differ only in case, take the one like `name`
    }
  }
  constexpr size_t kTelling = 3;  // number of letters that make a prefix meaningful
  if (!best.empty() || name.size() < kTelling) return best;
  const auto longer = std::find_if(known.begin(), known.end(), [&](const std::string& candidate) {
    return candidate.starts_with(name);
  });
  if (longer != known.end() && longer->size() <= kLongest) best.push_back(*longer);
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> known,
                         std::span<const std::string> others) {
  constexpr size_t kListed = 12;
  std::vector<std::string> all(known.begin(), known.end());
  all.insert(all.end(), others.begin(), others.end());
  std::string text;
  const std::vector<std::string> meant = all_nearest(name, all);
  for (size_t i = 0; i < meant.size(); ++i) {
    text += i == 0 ? " Did you mean " : i + 1 == meant.size() ? " or " : ", ";
    text += "'" + printable(meant[i]) + "'";
  }
  if (!meant.empty()) text += "?";
  if (known.empty()) return text;
  std::vector<std::string> listed;
  for (const std::string& one : known.first(std::min(kListed, known.size()))) {
    listed.push_back(printable(one));
  }
  text += " Known: " + join(listed, ", ");
  return text + (known.size() > kListed ? ", …" : ".");
}

std::string to_snake_case(std::string_view name) {
  std::string letters;
  std::copy_if(name.begin(), name.end(), std::back_inserter(letters),
               [](char c) { return ascii::is_alnum(c) || c == '_' || (c & 0x80) != 0; });
  std::string result;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (i > 0 && ascii::is_upper(letters[i]) &&
        (ascii::is_lower(letters[i - 1]) ||
         (i + 1 < letters.size() && ascii::is_lower(letters[i + 1])))) {
      result += '_';
    }
    result += ascii::to_lower(letters[i]);
  }
  return result;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), ascii::to_lower);
  return result;
}

std::string printable(std::string_view text, size_t most) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool starts = (byte & 0xC0) != 0x80;  // the start of a UTF-8 character
    if (starts && result.size() >= most) return result + "…";
    // ASCII control characters, and those that UTF-8 encodes as C2 80 to C2 9F.
    const bool wide = byte == 0xC2 && i + 1 < text.size() && (text[i + 1] & 0xE0) == 0x80;
    if (byte >= 0x20 && byte != 0x7F && !wide) {
      result += text[i];
    } else {
      result += fmt::format("\\x{:02x}", wide ? static_cast<unsigned char>(text[++i]) : byte);
    }
  }
  return result;
}

const char* given_text(const char* text, std::string_view argument) {
  check<InvalidArgument>(text != nullptr,
                         "{}: expected a text, got a null pointer. If the option may be omitted, "
                         "omit it or write {{}}.",
                         argument);
  return text;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string result;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) result += separator;
    result += part;
  }
  return result;
}

}  // namespace cornu
