// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/passes/row_division.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cornu::cpu {
namespace {

constexpr int64_t kFewestBlocks = 4;

int64_t bytes_of_row(const BatchRows& rows) {
  const Graph& body = rows.body();
  size_t most = 0;
  for (size_t id = 0; id < body.types.size(); ++id) {
    if (rows.is_divided(static_cast<ValueId>(id))) most = std::max(most, body.types[id].bytes());
  }
  return static_cast<int64_t>(most) / rows.batch();
}

// Merges the first two axes of shapes.
class AxisMerge {
 public:
  explicit AxisMerge(const BatchRows& rows) : body_(rows.body()), rows_(rows) {}

  // nullopt if they are treated differently.
  std::optional<Graph> run() const {
    Graph merged = body_;
    for (size_t id = 0; id < merged.types.size(); ++id) {
      if (!rows_.is_divided(static_cast<ValueId>(id))) continue;
      Shape& shape = merged.types[id].shape;
      if (shape.rank() < 2 || shape[0] != rows_.batch() || shape[1] != second())
        return std::nullopt;
      shape = Shape{shape[0] * shape[1]}.concat(shape.slice(2));
    }
    for (Node& node : merged.nodes) {
      if (rows_.is_divided(node.outputs[0]) && !merge(node)) return std::nullopt;
    }
    return merged;
  }

 private:
  int64_t second() const {
    const Shape& shape = body_.type(body_.outputs[0]).shape;
    return shape.rank() < 2 ? -1 : shape[1];
  }

  bool merge(Node& node) const {
    if (node.op->traits.elementwise) {
      const int64_t rank = body_.type(node.outputs[0]).shape.rank();
      return std::ranges::all_of(node.inputs, [&](ValueId id) {
        return rows_.is_divided(id) || body_.type(id).shape.rank() <= rank - 2;
      });
    }
    if (node.attributes.find("axes")) {  // of a reduction
      std::vector<int64_t> axes = node.attributes.get_ints("axes");
      if (std::ranges::any_of(axes, [](int64_t axis) { return axis < 2; })) return false;
      for (int64_t& axis : axes) --axis;
      node.attributes.set("axes", std::move(axes));
      return true;
    }
    if (!node.is("reshape")) return false;
    const Shape& shape = body_.type(node.outputs[0]).shape;
    node.attributes.set("shape", Shape{shape[0] * shape[1]}.concat(shape.slice(2)).dims());
    return true;
  }

  const Graph& body_;
  const BatchRows& rows_;
};

}  // namespace

std::optional<RowDivision> RowDivision::of(const Graph& body, int64_t block_bytes) {
  std::optional<BatchRows> rows = BatchRows::of(body, 0);
  if (!rows) return std::nullopt;
  while (bytes_of_row(*rows) > block_bytes / kFewestBlocks) {
    const std::optional<Graph> merged = AxisMerge(*rows).run();
    std::optional<BatchRows> of_merged;
    if (merged) of_merged = BatchRows::of(*merged, 0);
    if (!of_merged) break;
    rows = std::move(of_merged);
  }
  const int64_t bytes = std::max<int64_t>(bytes_of_row(*rows), 1);
  if (bytes > kFewestBlocks * block_bytes) return std::nullopt;
  const int64_t block = std::max<int64_t>(block_bytes / bytes, 1);
  if (rows->batch() < kFewestBlocks * block) return std::nullopt;
  return RowDivision{std::move(*rows), block};
}

}  // namespace cornu::cpu
