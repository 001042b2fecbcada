// SPDX-License-Identifier: Apache-2.0
// The placement of a variable on parameter servers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "framework/core/variable.h"

namespace cornu::distribute {

// Rows [begin, end) of an array along its first axis.
struct Rows {
  int64_t begin = 0;
  int64_t end = 0;
  auto operator<=>(const Rows&) const = default;
};

// A part of a variable, and the server that keeps it.
struct Shard {
  size_t server = 0;
  Rows rows = {};
};

// Ordered by rows. With a single shard, the variable is kept whole and the rows are meaningless.
using Placement = std::vector<Shard>;
using PlacementOf = std::function<Placement(const Variable&)>;

inline bool is_divided(const Placement& placement) { return placement.size() > 1; }

}  // namespace cornu::distribute
