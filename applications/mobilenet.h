// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "applications/imagenet_utils.h"
#include "applications/weights.h"
#include "framework/model/parts.h"
#include "framework/train/model.h"

namespace cornu::applications {

// In the order of Keras's arguments.
struct MobileNetOptions {
  // (height, width, channels), each side at least 32. None: (224, 224, 3), or images of any size
  // without include_top.
  OptionalShape input_shape = {};
  double alpha = 1.0;            // scales the number of filters in each layer
  int64_t depth_multiplier = 1;  // for the depthwise convolutions
  double dropout = 1e-3;
  bool include_top = true;
  Weights weights = "imagenet";  // None: random; or the path of a file
  Tensor input_tensor = {};      // a placeholder to build on, instead of a new Input
  std::string pooling = {};      // as in ApplicationOptions
  int64_t classes = 1000;
  Activation classifier_activation = "softmax";
  std::string name = {};  // None: "mobilenet_1.00_224", from alpha and height
};

// keras.applications.MobileNet (Howard et al., "MobileNets: efficient convolutional neural networks
// for mobile vision applications", 2017), for images from mobilenet::preprocess_input. Weight files
// and errors are as for MobileNetV2.
Model MobileNet(const MobileNetOptions& options = {});

namespace mobilenet {

// Scales pixels to [-1, 1].
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace mobilenet

}  // namespace cornu::applications
