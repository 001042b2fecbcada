// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.InceptionV3 (Szegedy et al., "Rethinking the inception architecture for
// computer vision", CVPR 2016), for images from inception_v3::preprocess_input, with sides of at
// least 75; 299 is usual. Weight files and errors are as for ResNet50.
Model InceptionV3(const ApplicationOptions& options = {});

namespace inception_v3 {

// Scales pixels to [-1, 1].
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace inception_v3

}  // namespace cornu::applications
