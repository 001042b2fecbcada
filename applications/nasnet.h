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
struct NASNetOptions {
  // (height, width, channels), each side at least 32. None: (224, 224, 3) for NASNetMobile; for
  // NASNetLarge (331, 331, 3), or images of any size without include_top.
  OptionalShape input_shape = {};
  bool include_top = true;
  Weights weights = "imagenet";  // this and the following: as in ApplicationOptions
  Tensor input_tensor = {};
  std::string pooling = {};
  int64_t classes = 1000;
  Activation classifier_activation = "softmax";
  std::string name = {};  // None: "nasnet_mobile", "nasnet_large"
};

// keras.applications.NASNetMobile and NASNetLarge (Zoph et al., "Learning transferable
// architectures for scalable image recognition", CVPR 2018), for images from
// nasnet::preprocess_input. Weight files and errors are as for ResNet50.
Model NASNetMobile(const NASNetOptions& options = {});
Model NASNetLarge(const NASNetOptions& options = {});

namespace nasnet {

// Scales pixels to [-1, 1].
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace nasnet

}  // namespace cornu::applications
