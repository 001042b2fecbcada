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
  int64_t num_chains = 3;                 // number of chains to mix
  int64_t chain_depth = 3;                // operations in each, drawn per batch; some do nothing
  // In [0, 1]: the bounds for the strength of each operation, drawn per image; a single number is
  // the upper bound.
  NumberList factor = 0.3;
  double alpha = 1.0;   // for the Dirichlet and beta distributions of the mixture
  bool all_ops = true;  // also brightness, contrast, color and sharpness
  std::string interpolation = "bilinear";  // or "nearest"
  std::optional<int64_t> seed = {};        // None: the next seed of this thread's sequence
  std::string data_format = {};            // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.AugMix: mixes images with several chains of RandAugment's operations (Hendrycks et
// al. 2020). Chains are redrawn in each call; in Keras, compiled code keeps the first ones. Images
// are as described in random_rotation.h, with red, green and blue channels; masks and boxes in a
// dictionary stay.
class AugMix final : public LayerHandle {
 public:
  explicit AugMix(const AugMixOptions& options = {});
  static AugMix from_config(const Json& config);
};

}  // namespace cornu::layers
