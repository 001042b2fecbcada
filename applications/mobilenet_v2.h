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
  // (height, width, channels), each side at least 32 or kUnknown. None: (224, 224, 3), or pictures
  // of any size without include_top.
  OptionalShape input_shape = {};
  double alpha = 1.0;  // more or fewer filters in each layer
  bool include_top = true;
  Weights weights = "imagenet";  // None: random; or a file's path
  Tensor input_tensor = {};      // a placeholder to build on, instead of a new Input
  // Without include_top: "avg" or "max" over what lies under a picture; empty: (batch, rows,
  // columns, features).
  std::string pooling = {};
  int64_t classes = 1000;
  Activation classifier_activation = "softmax";
  std::string name = {};  // None: "mobilenetv2_1.00_224", of alpha and height
};

// keras.applications.MobileNetV2 (Sandler et al., "MobileNetV2: inverted residuals and linear
// bottlenecks", CVPR 2018): takes pictures that preprocess_input made, (batch, height, width, 3) of
// -1 to 1.
//
//   auto base = applications::MobileNetV2(
//       {.input_shape = {160, 160, 3}, .include_top = false, .weights = "base.weights.h5"});
//
// Layers have Keras's names, so that its files load, those of keras.applications too: give their
// path as `weights`. Nothing is downloaded: "imagenet" is the file in Keras's cache, or NotFound,
// with the name of the file to get. InvalidArgument for options that don't go together.
Model MobileNetV2(const MobileNetV2Options& options = {});

namespace mobilenet_v2 {

// x / 127.5 - 1: pixels of 0 to 255 become -1 to 1. Integers become float32. Takes placeholders
// too.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace mobilenet_v2

}  // namespace cornu::applications
