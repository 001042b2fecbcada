// SPDX-License-Identifier: Apache-2.0
// Elementwise merging of several inputs into one.
#pragma once

#include <string>

#include "cornu/model/layer.h"

namespace cornu::layers {

struct MergeOptions {
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

enum class MergeKind { Add, Subtract, Multiply, Average, Maximum, Minimum };

// keras.layers.Add, Subtract (exactly two inputs), Multiply, Average, Maximum, Minimum.
//
// Inputs broadcast together; those of fewer axes get axes of size 1 after the batch. Batches must
// be of one size. Where all inputs have masks, the output's is true where any of them is.
template <MergeKind kKind>
class Merge : public LayerHandle {
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

}  // namespace cornu::layers
