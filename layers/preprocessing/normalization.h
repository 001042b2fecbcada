// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"
#include "layers/preprocessing/adapt_data.h"

namespace cornu::layers {

struct NormalizationOptions {
  AxisList axis = -1;    // axes with a mean and variance per element; {}: a single one
  Tensor mean = {};      // requires variance: of the axes' shape, or broadcastable
  Tensor variance = {};  // None (for both): determined by adapt
  bool invert = false;   // denormalize instead
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Normalization: (x - mean) / max(sqrt(variance), 1e-7) or, with invert,
// x * max(sqrt(variance), 1e-7) + mean. Inputs may have any shape; outputs have the same shape, in
// the layer's dtype.
//
//   layers::Normalization normalization;
//   normalization.adapt(train_x);
//
// Weights, none of them trainable: mean (0 until adapted), variance (1) and count (0, as in Keras),
// with the shape of `axis`; none if mean and variance are given.
class Normalization final : public LayerHandle {
 public:
  explicit Normalization(const NormalizationOptions& options = {});
  static Normalization from_config(const Json& config);

  // Sets mean and variance to those of the data, and builds the layer for it if necessary. As in
  // Keras, batches with one axis are rows. Functions and models, including those compiled before,
  // use the new values. Throws FailedPrecondition if mean and variance were given. Must not run
  // while another thread calls the layer.
  void adapt(const AdaptData& data, const AdaptOptions& options = {}) const;

  // The mean and variance used for normalization, along the input's axes (size 1 for those not in
  // `axis`). Throws FailedPrecondition before the layer is built.
  Tensor mean() const;
  Tensor variance() const;
};

}  // namespace cornu::layers
