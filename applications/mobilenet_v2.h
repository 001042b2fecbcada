// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "applications/imagenet_utils.h"
#include "applications/weights.h"
#include "framework/model/parts.h"
#include "framework/train/model.h"

namespace cornu::applications {

struct MobileNetV2Options {
  // (height, width, channels), each side at least 32 or kUnknown. None: (224, 224, 3), or images of
  // any size without include_top.
  OptionalShape input_shape = {};
  double alpha = 1.0;  // scales the number of filters in each layer
  bool include_top = true;
  Weights weights = "imagenet";  // None: random; or the path of a file
  Tensor input_tensor = {};      // a placeholder to build on, instead of a new Input
  // Without include_top: "avg" or "max" pooling over rows and columns; empty: none, (batch, rows,
  // columns, features).
  std::string pooling = {};
  int64_t classes = 1000;
  Activation classifier_activation = "softmax";
  std::string name = {};  // None: "mobilenetv2_1.00_224", from alpha and height
};

// keras.applications.MobileNetV2 (Sandler et al., "MobileNetV2: inverted residuals and linear
// bottlenecks", CVPR 2018), for images from preprocess_input: (batch, height, width, 3) in [-1, 1].
//
//   auto base = applications::MobileNetV2(
//       {.input_shape = {160, 160, 3}, .include_top = false, .weights = "base.weights.h5"});
//
// Layers have Keras's names, so Keras's weight files can be loaded, including those of
// keras.applications: pass their path as `weights`. Nothing is downloaded: "imagenet" uses the file
// in Keras's cache; if it is missing, throws NotFound with the name of the required file. Throws
// InvalidArgument for inconsistent options.
Model MobileNetV2(const MobileNetV2Options& options = {});

namespace mobilenet_v2 {

// Scales pixels from [0, 255] to [-1, 1]: x / 127.5 - 1. Integers are converted to float32. Also
// accepts placeholders.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace mobilenet_v2

}  // namespace cornu::applications
