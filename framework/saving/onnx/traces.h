// SPDX-License-Identifier: Apache-2.0
// A function traced for several sizes of its open axes, side by side: the differences between the
// graphs show how sizes depend on those axes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::onnx {

// Three: two determine how a size depends on an axis, and the third verifies it.
inline constexpr size_t kTraces = 3;

// A number in each of the traces.
struct Size {
  std::array<int64_t, kTraces> by_trace = {};

  Size() = default;
  Size(int64_t number) { by_trace.fill(number); }  // NOLINT: implicit on purpose
  constexpr Size(int64_t first, int64_t second, int64_t third) : by_trace{first, second, third} {}
  bool fixed() const { return by_trace[0] == by_trace[1] && by_trace[0] == by_trace[2]; }
  int64_t value() const { return by_trace[0]; }  // requires fixed()
  friend auto operator<=>(const Size&, const Size&) = default;
};

using Sizes = std::vector<Size>;

// Whether all sizes are fixed; values_of requires this and returns them as numbers.
bool all_fixed(const Sizes& sizes);
std::vector<int64_t> values_of(const Sizes& sizes);

// An axis whose size isn't known until the model runs.
struct OpenAxis {
  std::string name;  // in the file
  size_t input = 0;  // the first input that has it, and the axis there
  int64_t axis = 0;
  Size size = {};  // the sizes it was traced for
};

// The graphs, which have the same nodes and values. They must outlive this object.
class Traces {
 public:
  // Throws FailedPrecondition, with the difference and advice, unless they differ only in sizes.
  explicit Traces(std::array<const Graph*, kTraces> graphs);

  const Graph& first() const { return *graphs_[0]; }
  const Node& node(size_t index, size_t trace = 0) const { return graphs_[trace]->nodes[index]; }
  DType dtype(ValueId id) const { return first().type(id).dtype; }
  Sizes shape(ValueId id) const;
  // Attributes of a node.
  Size integer(size_t index, std::string_view name) const;
  Sizes integers(size_t index, std::string_view name) const;
  Traces graph(size_t index, std::string_view name) const;
  // For a "constant" node: the value in each trace.
  std::array<Tensor, kTraces> constant(size_t index) const;

 private:
  std::array<const Graph*, kTraces> graphs_;
};

// Throws FailedPrecondition: `where` depends on the sizes of open axes in a way that a file can't
// express.
[[noreturn]] void refuse_open_axes(std::string_view where, std::string_view how);

}  // namespace cornu::onnx
