// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "applications/imagenet_utils.h"
#include "applications/weights.h"
#include "framework/model/parts.h"
#include "framework/train/model.h"

namespace cornu::applications {

// In the order of Keras's arguments: those of ApplicationOptions, and one more.
struct EfficientNetV2Options {
  bool include_top = true;
  Weights weights = "imagenet";
  Tensor input_tensor = {};
  OptionalShape input_shape = {};
  std::string pooling = {};
  int64_t classes = 1000;
  Activation classifier_activation = "softmax";
  bool include_preprocessing = true;  // the model scales pixels in [0, 255]
  std::string name = {};              // None: "efficientnetv2-b0", …
};

// keras.applications.EfficientNetV2B0 to B3, S, M and L (Tan and Le, "EfficientNetV2: smaller
// models and faster training", ICML 2021), for pixels in [0, 255] and image sides of at least 32;
// 224, 240, 260, 300, 384, 480 and 480 are usual. Weight files and errors are as for ResNet50.
Model EfficientNetV2B0(const EfficientNetV2Options& options = {});
Model EfficientNetV2B1(const EfficientNetV2Options& options = {});
Model EfficientNetV2B2(const EfficientNetV2Options& options = {});
Model EfficientNetV2B3(const EfficientNetV2Options& options = {});
Model EfficientNetV2S(const EfficientNetV2Options& options = {});
Model EfficientNetV2M(const EfficientNetV2Options& options = {});
Model EfficientNetV2L(const EfficientNetV2Options& options = {});

namespace efficientnet_v2 {

// Returns `x`: the models scale pixels themselves.
inline Tensor preprocess_input(const Tensor& x) { return x; }
using imagenet_utils::decode_predictions;

}  // namespace efficientnet_v2

}  // namespace cornu::applications
