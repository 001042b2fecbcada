// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomGaussianBlurOptions {
  // In [0, 1]: the bounds of the probability that an image is blurred; a single number is the upper
  // bound.
  NumberList factor = 1.0;
  Size2 kernel_size = 3;  // columns and rows of the kernel; odd
  // In [0, 1] pixels: the bounds of the blur's standard deviation, the same for all images.
  NumberList sigma = 1.0;
  NumberList value_range = {0.0, 255.0};                // the range of pixel values
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomGaussianBlur: averages neighboring pixels (ops::image::gaussian_blur), with
// zeros outside the image. Images are as described in random_rotation.h.
class RandomGaussianBlur final : public LayerHandle {
 public:
  explicit RandomGaussianBlur(const RandomGaussianBlurOptions& options = {});
  static RandomGaussianBlur from_config(const Json& config);
};

}  // namespace cornu::layers
