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
struct ConvNeXtOptions {
  bool include_top = true;
  bool include_preprocessing = true;  // the model normalizes pixels in [0, 255]
  Weights weights = "imagenet";
  Tensor input_tensor = {};
  OptionalShape input_shape = {};
  std::string pooling = {};
  int64_t classes = 1000;
  Activation classifier_activation = "softmax";
  std::string name = {};  // also the prefix of layer names. None: "convnext_tiny", …
};

// keras.applications.ConvNeXtTiny, Small, Base, Large and XLarge (Liu et al., "A ConvNet for the
// 2020s", CVPR 2022), for pixels in [0, 255] and image sides of at least 32; 224 is usual. Weight
// files and errors are as for ResNet50.
Model ConvNeXtTiny(const ConvNeXtOptions& options = {});
Model ConvNeXtSmall(const ConvNeXtOptions& options = {});
Model ConvNeXtBase(const ConvNeXtOptions& options = {});
Model ConvNeXtLarge(const ConvNeXtOptions& options = {});
Model ConvNeXtXLarge(const ConvNeXtOptions& options = {});

namespace convnext {

// Returns `x`: the models scale pixels themselves.
inline Tensor preprocess_input(const Tensor& x) { return x; }
using imagenet_utils::decode_predictions;

}  // namespace convnext

}  // namespace cornu::applications
