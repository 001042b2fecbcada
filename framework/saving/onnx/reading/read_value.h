// SPDX-License-Identifier: Apache-2.0
// Values of an ONNX graph while a model is created from it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "framework/model/functional.h"
#include "framework/saving/onnx/traces.h"

namespace cornu::onnx::reading {

// Either a placeholder of the model, or a known value. A known value is the same for all sizes of
// the inputs' open axes, or there is one for each of kTraces choices of these sizes (values
// computed from shapes).
struct ReadValue {
  ReadValue() = default;
  explicit ReadValue(const Tensor& tensor);
  // Known for each choice of sizes; stored once if all are equal.
  explicit ReadValue(std::array<Tensor, kTraces> values);

  bool is_known() const { return !placeholder.defined(); }
  // Known, and not the same for all sizes.
  bool follows_sizes() const { return is_known() && known[0].id() != known[1].id(); }
  Size number(int64_t place) const;  // an element of known integers

  Tensor placeholder;
  std::array<Tensor, kTraces> known;
  // No element that depends on sizes can be negative.
  bool never_negative = true;
};

// Same dtype, shape and bytes.
bool is_same_value(const Tensor& a, const Tensor& b);

// Returns the integers in a known vector or scalar of an integer dtype.
Sizes sizes_of(const ReadValue& value);

// The shapes of placeholders for each choice of sizes.
class OpenShapes {
 public:
  // Sets the shape of a model input.
  void set(const Tensor& input, const Sizes& shape);
  Sizes of(const Tensor& placeholder);

  struct Axis {
    Tensor of;
    int64_t axis = 0;
    Size size;
  };
  // Axes of unknown size, one for each distinct size: those of inputs and of noted placeholders.
  const std::vector<Axis>& open_axes() const { return axes_; }
  void note(const Tensor& placeholder);

  // Tensors derived from sizes: int64 zeros along an axis of that size, and the size as a number.
  std::map<Size, Tensor> lines;
  std::map<Size, Tensor> numbers;

 private:
  using Types = std::vector<std::pair<DType, Shape>>;
  const std::array<Types, kTraces>& types_of(const std::shared_ptr<KerasNode>& last);
  std::array<Types, kTraces> computed(const KerasNode& node);

  std::vector<Axis> axes_;
  std::unordered_map<const KerasNode*, std::array<Types, kTraces>> types_;
};

}  // namespace cornu::onnx::reading
