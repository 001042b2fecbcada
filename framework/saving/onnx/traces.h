// SPDX-License-Identifier: Apache-2.0
// One function as traced for several sizes of its open axes, side by side: what differs between the
// graphs tells how sizes follow those axes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::onnx {

// Three: two tell how a size follows an axis, and the third one whether that holds.
inline constexpr size_t kTraces = 3;

// A number in each of the traces.
struct Size {
  std::array<int64_t, kTraces> by_trace = {};

  Size() = default;
  Size(int64_t number) { by_trace.fill(number); }  // NOLINT: implicit on purpose
  bool fixed() const { return by_trace[0] == by_trace[1] && by_trace[0] == by_trace[2]; }
  int64_t value() const { return by_trace[0]; }  // where it is fixed
  friend auto operator<=>(const Size&, const Size&) = default;
};

using Sizes = std::vector<Size>;

// All of them fixed, as numbers; nothing else has these.
bool all_fixed(const Sizes& sizes);
std::vector<int64_t> values_of(const Sizes& sizes);

// An axis whose size isn't known before the model runs.
struct OpenAxis {
  std::string name;  // in the file
  size_t input = 0;  // the first that has it, and which axis that is there
  int64_t axis = 0;
  Size size = {};  // what it was traced for
};

// The graphs, which have the same nodes and values. They must outlive this.
class Traces {
 public:
  // FailedPrecondition, with what differs and what to do, unless they differ in sizes alone.
  explicit Traces(std::array<const Graph*, kTraces> graphs);

  const Graph& first() const { return *graphs_[0]; }
  const Node& node(size_t index, size_t trace = 0) const { return graphs_[trace]->nodes[index]; }
  DType dtype(ValueId id) const { return first().type(id).dtype; }
  Sizes shape(ValueId id) const;
  // Attributes of a node.
  Size integer(size_t index, std::string_view name) const;
  Sizes integers(size_t index, std::string_view name) const;
  Traces graph(size_t index, std::string_view name) const;
  // Of a node "constant": the value in each trace.
  std::array<Tensor, kTraces> constant(size_t index) const;

 private:
  std::array<const Graph*, kTraces> graphs_;
};

// FailedPrecondition: `where` depends on the sizes of open axes in a way that no file can say.
[[noreturn]] void refuse_open_axes(std::string_view where, std::string_view how);

}  // namespace cornu::onnx
