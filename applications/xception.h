// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.Xception (Chollet, "Xception: deep learning with depthwise separable
// convolutions", CVPR 2017), for images from xception::preprocess_input, with sides of at least 71;
// 299 is usual. Weight files and errors are as for ResNet50.
Model Xception(const ApplicationOptions& options = {});

namespace xception {

// Scales pixels to [-1, 1].
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace xception

}  // namespace cornu::applications
