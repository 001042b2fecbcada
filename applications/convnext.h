// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "applications/imagenet_utils.h"
#include "applications/weights.h"
#include "framework/model/parts.h"
#include "framework/train/model.h"

namespace cornu::applications {

// In the order of Keras's arguments; as ApplicationOptions, and one more.
struct ConvNeXtOptions {
  bool include_top = true;
  bool include_preprocessing = true;  // pixels of 0 to 255 are normalized by the model
  Weights weights = "imagenet";
  Tensor input_tensor = {};
  OptionalShape input_shape = {};
  std::string pooling = {};
  int64_t classes = 1000;
  Activation classifier_activation = "softmax";
  std::string name = {};  // also begins the names of layers. None: "convnext_tiny", …
};

// keras.applications.ConvNeXtTiny, Small, Base, Large and XLarge (Liu et al., "A ConvNet for the
// 2020s", CVPR 2022), for pixels of 0 to 255, each side at least 32; 224 is usual. Files of weights
// and errors: as ResNet50's.
Model ConvNeXtTiny(const ConvNeXtOptions& options = {});
Model ConvNeXtSmall(const ConvNeXtOptions& options = {});
Model ConvNeXtBase(const ConvNeXtOptions& options = {});
Model ConvNeXtLarge(const ConvNeXtOptions& options = {});
Model ConvNeXtXLarge(const ConvNeXtOptions& options = {});

namespace convnext {

// `x` itself: the models scale pixels.
inline Tensor preprocess_input(const Tensor& x) { return x; }
using imagenet_utils::decode_predictions;

}  // namespace convnext

}  // namespace cornu::applications
