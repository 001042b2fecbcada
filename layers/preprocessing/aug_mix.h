// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct AugMixOptions {
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  int64_t num_chains = 3;                 // that are mixed
  int64_t chain_depth = 3;                // changes in each, drawn for a batch; one of them is none
  // In [0, 1]: the bounds of what each change draws for a picture; a single number is the upper
  // bound.
  NumberList factor = 0.3;
  double alpha = 1.0;   // of the Dirichlet and beta distributions that the mixture is drawn from
  bool all_ops = true;  // also brightness, contrast, color and sharpness
  std::string interpolation = "bilinear";  // or "nearest"
  std::optional<int64_t> seed = {};        // None: the next seed of this thread's sequence
  std::string data_format = {};            // None: "channels_last"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.AugMix: mixes pictures with several chains of RandAugment's changes (Hendrycks et
// al. 2020). Chains are drawn anew with each call; in Keras, compiled code keeps its first ones.
// Pictures as in random_rotation.h, of red, green and blue.
class AugMix : public LayerHandle {
 public:
  explicit AugMix(const AugMixOptions& options = {});
  static AugMix from_config(const Json& config);
};

}  // namespace cornu::layers
