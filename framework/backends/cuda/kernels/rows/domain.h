// SPDX-License-Identifier: Apache-2.0
// The domain of "fused_rows": an array as rows of its last axis.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/graph/graph.h"

namespace cornu::cuda {

// How an operand is mapped to the array.
enum class RowKind : uint8_t {
  Full,    // one element per element of the array
  Row,     // one per row
  Column,  // one per position in a row
  One,     // a single one
  Other,
};

struct RowDomain {
  Shape shape;
  int64_t rows = 1;
  int64_t columns = 1;

  explicit RowDomain(const Shape& of);
  // The kind of a shape that broadcasts over the array, or has as many elements as there are rows.
  RowKind kind(const Shape& operand) const;
};

// The array whose rows the node reduces; nullopt for any other node.
std::optional<RowDomain> reduced_rows(const Graph& graph, const Node& node);

}  // namespace cornu::cuda
