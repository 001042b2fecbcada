// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct RandomFlipOptions {
  std::string mode = "horizontal_and_vertical";  // or "horizontal" (left and right), "vertical"
  std::optional<int64_t> seed = {};              // None: the next seed of this thread's sequence
  std::string data_format = {};                  // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomFlip: in training, randomly mirrors each image, along both axes if the mode
// says so. Otherwise returns it unchanged. Images are as described in random_rotation.h.
class RandomFlip final : public LayerHandle {
 public:
  explicit RandomFlip(const RandomFlipOptions& options = {});
  // Allows `RandomFlip("horizontal")`.
  template <std::convertible_to<std::string> T = const char*>
  explicit RandomFlip(const T& mode) : RandomFlip(RandomFlipOptions{.mode = mode}) {}
  static RandomFlip from_config(const Json& config);
};

}  // namespace cornu::layers
