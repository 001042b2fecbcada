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
  // (height, width, channels), each side at least 32. None: images of any size.
  OptionalShape input_shape = {};
  double alpha = 1.0;         // scales the number of filters in each layer
  bool minimalistic = false;  // no squeeze and excitation, hard swish or 5 x 5 kernels
  bool include_top = true;
  Weights weights = "imagenet";  // None: random; or the path of a file
  Tensor input_tensor = {};      // a placeholder to build on, instead of a new Input
  int64_t classes = 1000;
  std::string pooling = {};  // as in ApplicationOptions
  double dropout_rate = 0.2;
  Activation classifier_activation = "softmax";
  bool include_preprocessing = true;  // the model scales pixels to [-1, 1]
  std::string name = {};              // None: the name of the function
};

// keras.applications.MobileNetV3Small and MobileNetV3Large (Howard et al., "Searching for
// MobileNetV3", ICCV 2019), for pixels in [0, 255]. Weight files and errors are as for MobileNetV2.
Model MobileNetV3Small(const MobileNetV3Options& options = {});
Model MobileNetV3Large(const MobileNetV3Options& options = {});

namespace mobilenet_v3 {

// Returns `x`: the models scale pixels themselves.
inline Tensor preprocess_input(const Tensor& x) { return x; }
using imagenet_utils::decode_predictions;

}  // namespace mobilenet_v3

}  // namespace cornu::applications
