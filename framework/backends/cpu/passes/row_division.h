// SPDX-License-Identifier: Apache-2.0
// The division of a body whose rows are independent into blocks of rows that stay in a cache.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/backends/cpu/passes/batch_rows.h"

namespace cornu::cpu {

struct RowDivision {
  // Returns nullopt if the body's rows depend on each other, or are so long that fewer than four
  // blocks of about `block_bytes` (of the largest value) would result.
  static std::optional<RowDivision> of(const Graph& body, int64_t block_bytes);

  BatchRows rows;  // of the given body, with its leading axes merged where they have to be
  int64_t block;   // rows
};

}  // namespace cornu::cpu
