// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/data_link.h"

#include <charconv>

#include "distribute/cluster/credentials.h"
#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

constexpr std::string_view kMagic = "CORNULNK ";
constexpr std::string_view kHttp2 = "PRI * HTTP/2.0";
constexpr std::string_view kTls = "\x16\x03";  // a handshake record, of any version since 1996

std::string unsigned_preface(const DataLink& link) {
  return fmt::format("{}{:020} {:010} {:010}", kMagic, link.generation, link.from, link.to);
}

// Removes the number and the space after it from the beginning of `text`.
template <class Number>
bool take_number(std::string_view& text, size_t digits, Number& number) {
  const char* end = text.data() + digits;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const bool fits = error == std::errc() && rest == end && number >= 0 && *end == ' ';
  text.remove_prefix(digits + 1);
  return fits;
}

}  // namespace

std::string link_preface(const DataLink& link, const std::string& key) {
  const std::string text = unsigned_preface(link);
  const std::string whole = fmt::format("{} {}\n", text, signature(key, text));
  CORNU_ASSERT(whole.size(), ==, kPreface);
  return whole;
}

std::optional<DataLink> parse_preface(std::string_view bytes) {
  if (bytes.size() != kPreface || !bytes.starts_with(kMagic) || bytes.back() != '\n') return {};
  bytes.remove_prefix(kMagic.size());
  DataLink link;
  const bool fits = take_number(bytes, 20, link.generation) && take_number(bytes, 10, link.from) &&
                    take_number(bytes, 10, link.to) && link.generation > 0;
  return fits ? std::optional(link) : std::nullopt;
}

Opening opening_of(std::string_view bytes) {
  const auto begins_as = [&](std::string_view expected) {
    return bytes.starts_with(expected.substr(0, bytes.size()));
  };
  if (begins_as(kHttp2)) return bytes.size() < kHttp2.size() ? Opening::Unclear : Opening::Http2;
  if (begins_as(kTls)) return bytes.size() < kTls.size() ? Opening::Unclear : Opening::Tls;
  if (begins_as(kMagic)) return bytes.size() < kPreface ? Opening::Unclear : Opening::Link;
  return Opening::Foreign;
}

}  // namespace cornu::distribute
