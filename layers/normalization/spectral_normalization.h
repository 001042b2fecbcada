// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct SpectralNormalizationOptions {
  int64_t power_iterations = 1;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.SpectralNormalization (Miyato et al., "Spectral normalization for generative
// adversarial networks", 2018): in training, divides the layer's kernel (or embeddings) by its
// largest singular value before each call. The singular value is estimated by power iterations that
// start from the last call's vector.
//
//   layers::SpectralNormalization(layers::Conv2D({.filters = 8, .kernel_size = 3}))
//
// Shapes are those of the layer. Outputs have the dtype of the inputs if that is floating point.
// The division isn't part of the gradient. Throws NotFound for a layer without such a weight.
// Weights: the kernel; vector_u (1, the kernel's last axis), which isn't trainable; the layer's
// other weights.
class SpectralNormalization final : public LayerHandle {
 public:
  explicit SpectralNormalization(const LayerHandle& layer,
                                 const SpectralNormalizationOptions& options = {});
  static SpectralNormalization from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built.
  Variable vector_u() const { return weight("vector_u"); }
};

}  // namespace cornu::layers
