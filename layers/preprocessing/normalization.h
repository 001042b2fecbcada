// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"
#include "layers/preprocessing/adapt_data.h"

namespace cornu::layers {

struct NormalizationOptions {
  AxisList axis = -1;    // those whose elements have a mean and a variance each; {}: one for all
  Tensor mean = {};      // with variance: numbers of the axes' shape, or that broadcast to it
  Tensor variance = {};  // None (of both): what adapt finds
  bool invert = false;   // back from normalized values
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Normalization: (x - mean) / max(sqrt(variance), 1e-7), or with invert x *
// max(sqrt(variance), 1e-7) + mean. Any shape; the output has the input's, in the layer's dtype.
//
//   layers::Normalization normalization;
//   normalization.adapt(train_x);
//
// Weights, none of which is trainable: mean (0 until adapted), variance (1) and count (0, as in
// Keras), of the shape of `axis`; none where mean and variance are given.
class Normalization : public LayerHandle {
 public:
  explicit Normalization(const NormalizationOptions& options = {});
  static Normalization from_config(const Json& config);

  // Sets mean and variance to those of the data, and builds the layer for it where that wasn't
  // done. Batches of one axis are rows, as Keras takes them. Functions and models see the new
  // values, also where they were compiled before. FailedPrecondition where mean and variance were
  // given. Not while another thread calls the layer.
  void adapt(const AdaptData& data, const AdaptOptions& options = {}) const;

  // What is subtracted and divided by the root of, along the input's axes (1 where not in `axis`).
  // Throws FailedPrecondition before the layer is built.
  Tensor mean() const;
  Tensor variance() const;
};

}  // namespace cornu::layers
