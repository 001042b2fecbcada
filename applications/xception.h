// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.Xception (Chollet, "Xception: deep learning with depthwise separable
// convolutions", CVPR 2017), for pictures that xception::preprocess_input made, each side at least
// 71; 299 is usual. Files of weights and errors: as ResNet50's.
Model Xception(const ApplicationOptions& options = {});

namespace xception {

// -1 to 1.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace xception

}  // namespace cornu::applications
