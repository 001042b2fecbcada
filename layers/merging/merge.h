// SPDX-License-Identifier: Apache-2.0
// Elementwise merging of several inputs into one.
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct MergeOptions {
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

enum class MergeKind { Add, Subtract, Multiply, Average, Maximum, Minimum };

// keras.layers.Add, Subtract (exactly two inputs), Multiply, Average, Maximum, Minimum.
//
// Inputs are broadcast; those with fewer axes get axes of size 1 after the batch. Batch sizes must
// be the same. If all inputs have masks, the output's mask is true where any of them is.
template <MergeKind kKind>
class Merge final : public LayerHandle {
 public:
  explicit Merge(const MergeOptions& options = {});
  static Merge from_config(const Json& config);
};

using AddOptions = MergeOptions;
using SubtractOptions = MergeOptions;
using MultiplyOptions = MergeOptions;
using AverageOptions = MergeOptions;
using MaximumOptions = MergeOptions;
using MinimumOptions = MergeOptions;

using Add = Merge<MergeKind::Add>;
using Subtract = Merge<MergeKind::Subtract>;
using Multiply = Merge<MergeKind::Multiply>;
using Average = Merge<MergeKind::Average>;
using Maximum = Merge<MergeKind::Maximum>;
using Minimum = Merge<MergeKind::Minimum>;

// keras.layers.add and so on: create the layer and call it.
inline Tensor add(const Tensors& inputs, const AddOptions& options = {}) {
  return Add(options)(inputs);
}
inline Tensor average(const Tensors& inputs, const AverageOptions& options = {}) {
  return Average(options)(inputs);
}
inline Tensor maximum(const Tensors& inputs, const MaximumOptions& options = {}) {
  return Maximum(options)(inputs);
}
inline Tensor minimum(const Tensors& inputs, const MinimumOptions& options = {}) {
  return Minimum(options)(inputs);
}
inline Tensor multiply(const Tensors& inputs, const MultiplyOptions& options = {}) {
  return Multiply(options)(inputs);
}
inline Tensor subtract(const Tensors& inputs, const SubtractOptions& options = {}) {
  return Subtract(options)(inputs);
}

}  // namespace cornu::layers
