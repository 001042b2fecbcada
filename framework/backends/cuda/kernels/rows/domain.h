// SPDX-License-Identifier: Apache-2.0
// What "fused_rows" computes over: an array as rows of its last axis.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/graph/graph.h"

namespace cornu::cuda {

// How an operand lies over the array.
enum class RowKind : uint8_t {
  Full,    // an element for each of the array's
  Row,     // one for each row
  Column,  // one for each place in a row
  One,     // one for all
  Other,
};

struct RowDomain {
  Shape shape;
  int64_t rows = 1;
  int64_t columns = 1;

  explicit RowDomain(const Shape& of);
  // Of a shape that broadcasts over the array, or has as many elements as there are rows.
  RowKind kind(const Shape& operand) const;
};

// The array whose rows the node reduces; none for any other node.
std::optional<RowDomain> reduced_rows(const Graph& graph, const Node& node);

}  // namespace cornu::cuda
