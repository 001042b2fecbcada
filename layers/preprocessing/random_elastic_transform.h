// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomElasticTransformOptions {
  // In [0, 1]: the bounds of the probability that an image is distorted; a single number is the
  // upper bound.
  NumberList factor = 1.0;
  // In [0, 1]: the bounds of the strength, the same for all images; a single number is the upper
  // bound.
  NumberList scale = 1.0;
  std::string interpolation = "bilinear";  // or "nearest"
  std::string fill_mode = "reflect";  // "constant", "nearest", "wrap", "mirror": image_geometry.h
  double fill_value = 0.0;            // for pixels outside, with "constant"
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  std::optional<int64_t> seed = {};       // None: the next seed of this thread's sequence
  std::string data_format = {};           // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomElasticTransform: moves pixels like ops::image::elastic_transform, where alpha
// is a tenth of the longer side and sigma a twentieth of the shorter one, times the number drawn
// from `scale`. Images are as described in random_rotation.h; boxes in a dictionary throw
// Unimplemented.
class RandomElasticTransform final : public LayerHandle {
 public:
  explicit RandomElasticTransform(const RandomElasticTransformOptions& options = {});
  static RandomElasticTransform from_config(const Json& config);
};

}  // namespace cornu::layers
