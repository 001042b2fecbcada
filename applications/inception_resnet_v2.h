// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.InceptionResNetV2 (Szegedy et al., "Inception-v4, Inception-ResNet and the
// impact of residual connections on learning", AAAI 2017), for images from
// inception_resnet_v2::preprocess_input, with sides of at least 75; 299 is usual. Weight files and
// errors are as for ResNet50.
Model InceptionResNetV2(const ApplicationOptions& options = {});

namespace inception_resnet_v2 {

// Scales pixels to [-1, 1].
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace inception_resnet_v2

}  // namespace cornu::applications
