// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.InceptionResNetV2 (Szegedy et al., "Inception-v4, Inception-ResNet and the
// impact of residual connections on learning", AAAI 2017), for pictures that
// inception_resnet_v2::preprocess_input made, each side at least 75; 299 is usual. Files of weights
// and errors: as ResNet50's.
Model InceptionResNetV2(const ApplicationOptions& options = {});

namespace inception_resnet_v2 {

// -1 to 1.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace inception_resnet_v2

}  // namespace cornu::applications
