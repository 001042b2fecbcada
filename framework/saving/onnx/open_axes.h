// SPDX-License-Identifier: Apache-2.0
// The open axes of a function's inputs: which of them are the same, and the sizes for which the
// function is traced.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "framework/saving/onnx/exporter.h"
#include "framework/saving/onnx/traces.h"

namespace cornu::onnx {

// An open axis of an input, other than its first: those are the same in all inputs, the batch.
struct OpenPlace {
  size_t input = 0;
  int64_t axis = 0;
};
std::vector<OpenPlace> open_places(const std::vector<ExportedInput>& inputs);

// For each open place, the number of its group. Axes of a group are the same.
using AxisGroups = std::vector<size_t>;

// Sizes come in ranges: the first has the largest ones, for any number of groups; models that have
// a limit (a table of positions) may accept only those of a later one.
inline constexpr size_t kSizeRanges = 6;

class OpenAxes {
 public:
  // nullopt if the range hasn't enough sizes to tell that many groups apart.
  static std::optional<OpenAxes> make(const std::vector<ExportedInput>& inputs,
                                      const AxisGroups& groups, size_t range);

  const std::vector<OpenAxis>& list() const { return list_; }
  const Sizes& shape(size_t input) const { return shapes_[input]; }
  // The types of the inputs in a trace.
  std::vector<TensorType> types(const std::vector<ExportedInput>& inputs, size_t trace) const;

 private:
  std::vector<OpenAxis> list_;
  std::vector<Sizes> shapes_;
};

// Returns the finest groups which `accepts` does, given groups that it does: an axis is in a group
// with others only if it must be the same as they are.
AxisGroups finest_groups(AxisGroups groups, const std::function<bool(const AxisGroups&)>& accepts);

}  // namespace cornu::onnx
