// SPDX-License-Identifier: Apache-2.0
// How connections between tasks open.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cornu::distribute {

// The endpoints and the group of a connection used for collectives.
struct DataLink {
  int64_t generation = 0;  // starts at 1
  int from = 0;            // the rank that connects
  int to = 0;
  auto operator<=>(const DataLink&) const = default;
};

// The first bytes of a link's connection: "CORNULNK generation from to signature\n", with numbers
// of twenty and ten digits. The signature covers the preceding text and uses the group's key.
inline constexpr size_t kPreface = 8 + 1 + 20 + 1 + 10 + 1 + 10 + 1 + 64 + 1;
std::string link_preface(const DataLink& link, const std::string& key);
// Parses kPreface bytes; the caller must still verify the signature. Returns nullopt for anything
// but a preface.
std::optional<DataLink> parse_preface(std::string_view bytes);

// The kind of connection that these first bytes indicate.
enum class Opening { Unclear, Http2, Tls, Link, Foreign };
Opening opening_of(std::string_view bytes);

}  // namespace cornu::distribute
