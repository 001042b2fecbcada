// SPDX-License-Identifier: Apache-2.0
// Keras's random image layers change each image independently, in training only; otherwise, and
// without `factor`, images are unchanged. If the training flag isn't set (the layer isn't called in
// a model's fit, evaluate or predict, and not with .training), it defaults to training, so that
// `dataset.map([&](const Tensor& x, const Tensor& y) { return std::pair(Tensor(flip(x)), y); })`
// augments the data.
//
// They accept (height, width, channels) or (batch, height, width, channels) of any dtype, and
// return floats. The random numbers for an image don't depend on the number of replicas. In a
// dataset's map, they are keyed by the element and by `seed`, if given; a restored position draws
// the same numbers again.
//
// All image layers also accept dictionaries, and change what belongs to the "images":
//
// - "segmentation_masks" (height, width, 1), or a batch of them: layers that move pixels move these
//   in the same way, without interpolation. Their dtype stays, except in MixUp.
// - "bounding_boxes/boxes" (boxes, 4) or (batch, boxes, 4), in the layer's bounding_box_format
//   (framework/ops/bounding_boxes.h), and "bounding_boxes/labels" (boxes), (boxes, classes), or a
//   batch of them: boxes become those around their moved corners, clipped to the image, float32;
//   the labels of boxes of which nothing is left become -1.
// - "labels": only MixUp and CutMix change them.
//
// Entries with other names stay. Throws InvalidArgument for a dictionary without images, and for
// boxes and masks that don't fit them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomRotationOptions {
  // Required: the bounds of the angle, as fractions of a full counter-clockwise turn, in [-1, 1]; a
  // single number f means [-f, f].
  NumberList factor = {};
  std::string fill_mode = "reflect";       // as in ops::image::AffineTransformOptions
  std::string interpolation = "bilinear";  // or "nearest"
  std::optional<int64_t> seed = {};        // None: the next seed of this thread's sequence
  double fill_value = 0.0;
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomRotation: rotates images about their center.
class RandomRotation final : public LayerHandle {
 public:
  explicit RandomRotation(const RandomRotationOptions& options);
  static RandomRotation from_config(const Json& config);
};

}  // namespace cornu::layers
