// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/rows/domain.h"

#include <vector>

namespace cornu::cuda {
namespace {

constexpr int64_t kLongestRow = 16384;

}  // namespace

RowDomain::RowDomain(const Shape& of)
    : shape(of), rows(of.slice(0, of.rank() - 1).num_elements()), columns(of[of.rank() - 1]) {}

RowKind RowDomain::kind(const Shape& operand) const {
  const int64_t count = operand.num_elements();
  if (count == rows * columns) return RowKind::Full;
  if (count == 1) return RowKind::One;
  if (count == columns && operand[operand.rank() - 1] == columns) return RowKind::Column;
  return count == rows ? RowKind::Row : RowKind::Other;
}

std::optional<RowDomain> reduced_rows(const Graph& graph, const Node& node) {
  if (!node.is("reduce_sum") && !node.is("reduce_max") && !node.is("reduce_min")) {
    return std::nullopt;
  }
  const auto& [dtype, shape] = graph.type(node.inputs[0]);
  if (dtype != DType::Float32 && dtype != DType::Float64) return std::nullopt;
  // A reduction of a vector is a sum over everything, for which one group of threads isn't enough.
  if (shape.rank() < 2 || shape.num_elements() == 0) return std::nullopt;
  if (node.attributes.get_ints("axes") != std::vector<int64_t>{shape.rank() - 1}) {
    return std::nullopt;
  }
  const RowDomain domain(shape);
  if (domain.columns < 2 || domain.columns > kLongestRow) return std::nullopt;
  return domain;
}

}  // namespace cornu::cuda
