// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct ContrastLimitedAdaptiveHistogramEqualizationOptions {
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  double clip_limit = 4.0;       // limit of a histogram bin, relative to the mean; <= 0: none
  Size2 tile_grid_size = 8;      // number of tiles vertically and horizontally
  std::string data_format = {};  // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.ContrastLimitedAdaptiveHistogramEqualization: equalizes the histogram of each
// channel in each tile of each image, also outside training, with interpolation between tile
// centers (Pizer et al. 1987). Integers stay integers. Images are as described in
// random_rotation.h.
class ContrastLimitedAdaptiveHistogramEqualization final : public LayerHandle {
 public:
  explicit ContrastLimitedAdaptiveHistogramEqualization(
      const ContrastLimitedAdaptiveHistogramEqualizationOptions& options = {});
  static ContrastLimitedAdaptiveHistogramEqualization from_config(const Json& config);
};

}  // namespace cornu::layers
