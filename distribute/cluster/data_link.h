// SPDX-License-Identifier: Apache-2.0
// How connections between tasks begin.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cornu::distribute {

// Between whom a connection for collectives is, and in which group.
struct DataLink {
  int64_t generation = 0;  // from 1 on
  int from = 0;            // the rank that connects
  int to = 0;
  auto operator<=>(const DataLink&) const = default;
};

// What begins a link's connection: "CORNULNK generation from to signature\n", with numbers of
// twenty and ten digits; the signature is the text's before it, by its group's key.
inline constexpr size_t kPreface = 8 + 1 + 20 + 1 + 10 + 1 + 10 + 1 + 64 + 1;
std::string link_preface(const DataLink& link, const std::string& key);
// Of kPreface bytes; its signature must still be compared. None where they are no preface.
std::optional<DataLink> parse_preface(std::string_view bytes);

// What a connection that begins with these bytes is.
enum class Opening { Unclear, Http2, Tls, Link, Foreign };
Opening opening_of(std::string_view bytes);

}  // namespace cornu::distribute
