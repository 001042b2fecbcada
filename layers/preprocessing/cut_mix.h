// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct CutMixOptions {
  // In [0, 1]: the bounds for the parameter of the beta distribution from which the remaining
  // fraction is drawn; a single number is the upper bound.
  NumberList factor = 1.0;
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string data_format = {};      // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.CutMix: replaces a rectangle of each image by that of another image in the batch
// (Yun et al. 2019). Called with {images, labels}, where labels are numbers (batch, ...), it mixes
// the labels by area; in a dictionary, masks are treated like images, and boxes throw
// Unimplemented. Images and dictionaries are as described in random_rotation.h.
class CutMix final : public LayerHandle {
 public:
  explicit CutMix(const CutMixOptions& options = {});
  static CutMix from_config(const Json& config);
};

}  // namespace cornu::layers
