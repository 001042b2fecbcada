// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct RandomCropOptions {
  int64_t height = 0;                // required
  int64_t width = 0;                 // required
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string data_format = {};      // None: "channels_last"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomCrop: in training, the same part of all pictures of a batch, at a random
// place. Otherwise, and where pictures aren't larger both ways, the largest part in the middle that
// has the shape of (height, width), resized to it. (Keras 3.15 documents this, but outside of
// training gives pictures as they are, though models are told the smaller shape.) Images are as
// described in random_rotation.h.
class RandomCrop : public LayerHandle {
 public:
  explicit RandomCrop(const RandomCropOptions& options);
  static RandomCrop from_config(const Json& config);
};

}  // namespace cornu::layers
