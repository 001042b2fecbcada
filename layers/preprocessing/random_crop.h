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
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomCrop: in training, crops all images of a batch at the same random position.
// Otherwise, and if images aren't larger in both directions, crops the largest centered part with
// the aspect ratio of (height, width) and resizes it. (Keras 3.15 documents this, but outside
// training it returns images unchanged, although models infer the smaller shape.) Images are as
// described in random_rotation.h.
class RandomCrop final : public LayerHandle {
 public:
  explicit RandomCrop(const RandomCropOptions& options);
  static RandomCrop from_config(const Json& config);
};

}  // namespace cornu::layers
