// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct MixUpOptions {
  double alpha = 0.2;            // for the beta distribution of each image's weight
  std::string data_format = {};  // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.MixUp: replaces each image by a weighted mean of itself and another image of the
// batch (Zhang et al. 2017). Called with {images, labels}, where labels are numbers (batch, ...),
// it mixes both in the same way; in a dictionary, labels and masks, whose channels are classes, and
// an image gets the boxes of both. Images and dictionaries are as described in random_rotation.h.
class MixUp final : public LayerHandle {
 public:
  explicit MixUp(const MixUpOptions& options = {});
  static MixUp from_config(const Json& config);
};

}  // namespace cornu::layers
