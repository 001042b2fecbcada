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
struct MobileNetV3Options {
  // (height, width, channels), each side at least 32. None: pictures of any size.
  OptionalShape input_shape = {};
  double alpha = 1.0;         // more or fewer filters in each layer
  bool minimalistic = false;  // without squeeze and excitation, hard swish and kernels of 5
  bool include_top = true;
  Weights weights = "imagenet";  // None: random; or a file's path
  Tensor input_tensor = {};      // a placeholder to build on, instead of a new Input
  int64_t classes = 1000;
  std::string pooling = {};  // as of ApplicationOptions
  double dropout_rate = 0.2;
  Activation classifier_activation = "softmax";
  bool include_preprocessing = true;  // pixels are scaled to -1 to 1 by the model
  std::string name = {};              // None: the function's name
};

// keras.applications.MobileNetV3Small and MobileNetV3Large (Howard et al., "Searching for
// MobileNetV3", ICCV 2019), for pixels of 0 to 255. Files of weights and errors: as MobileNetV2's.
Model MobileNetV3Small(const MobileNetV3Options& options = {});
Model MobileNetV3Large(const MobileNetV3Options& options = {});

namespace mobilenet_v3 {

// `x` itself: the models scale pixels.
inline Tensor preprocess_input(const Tensor& x) { return x; }
using imagenet_utils::decode_predictions;

}  // namespace mobilenet_v3

}  // namespace cornu::applications
