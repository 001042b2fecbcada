// SPDX-License-Identifier: Apache-2.0
// Keras's random layers of pictures change each picture by itself, in training; otherwise, and
// without `factor`, it stays as it is. Where nobody says whether it is training (the layer isn't
// called in a model's fit, evaluate or predict, and not with .training), it is, so that
// `dataset.map([&](const Tensor& x, const Tensor& y) { return std::pair(Tensor(flip(x)), y); })`
// augments.
//
// They take (height, width, channels) or (batch, height, width, channels), of any dtype, and give
// floats. What is drawn for a picture doesn't depend on the number of replicas. In a dataset's map
// it is keyed by the element, and by `seed` where one is given; a position that is restored draws
// the same again.
//
// Dictionaries of pictures with their boxes, labels and masks aren't taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomRotationOptions {
  // Required: the bounds of the angle, as parts of a whole turn counter-clockwise, in [-1, 1]; a
  // single number f means [-f, f].
  NumberList factor = {};
  std::string fill_mode = "reflect";       // as in ops::image::AffineTransformOptions
  std::string interpolation = "bilinear";  // or "nearest"
  std::optional<int64_t> seed = {};        // None: the next seed of this thread's sequence
  double fill_value = 0.0;
  std::string data_format = {};  // None: "channels_last"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomRotation: turns pictures about their middle.
class RandomRotation : public LayerHandle {
 public:
  explicit RandomRotation(const RandomRotationOptions& options);
  static RandomRotation from_config(const Json& config);
};

}  // namespace cornu::layers
