// SPDX-License-Identifier: Apache-2.0
// What a value of an ONNX graph is while a model is made of it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "framework/model/functional.h"
#include "framework/saving/onnx/traces.h"

namespace cornu::onnx::reading {

// A placeholder of the model that is made; or a value that is known: the same whatever sizes the
// inputs' open axes have, or for each of kTraces choices of these sizes one (what is computed of
// shapes).
struct ReadValue {
  ReadValue() = default;
  explicit ReadValue(const Tensor& tensor);
  // Known for each choice; all the same where they are equal.
  explicit ReadValue(std::array<Tensor, kTraces> values);

  bool is_known() const { return !placeholder.defined(); }
  // Known, and not the same for all sizes.
  bool follows_sizes() const { return is_known() && known[0].id() != known[1].id(); }
  Size number(int64_t place) const;  // an element of known integers

  Tensor placeholder;
  std::array<Tensor, kTraces> known;
  // None of its elements that follow sizes can be negative.
  bool never_negative = true;
};

// The same dtype, shape and bytes.
bool is_same_value(const Tensor& a, const Tensor& b);

// The integers of a known vector, or scalar, of an integer dtype.
Sizes sizes_of(const ReadValue& value);

// The shapes that placeholders have for each choice of sizes.
class OpenShapes {
 public:
  // Of a model's input.
  void set(const Tensor& input, const Sizes& shape);
  Sizes of(const Tensor& placeholder);

  struct Axis {
    Tensor of;
    int64_t axis = 0;
    Size size;
  };
  // Axes of unknown size, one for each size: those of inputs, and of what was noted.
  const std::vector<Axis>& open_axes() const { return axes_; }
  void note(const Tensor& placeholder);

  // What has been made of sizes: int64 zeros, as many as an axis has elements, and numbers.
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
