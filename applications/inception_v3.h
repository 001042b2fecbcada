// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.InceptionV3 (Szegedy et al., "Rethinking the inception architecture for
// computer vision", CVPR 2016), for pictures that inception_v3::preprocess_input made, each side at
// least 75; 299 is usual. Files of weights and errors: as ResNet50's.
Model InceptionV3(const ApplicationOptions& options = {});

namespace inception_v3 {

// -1 to 1.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace inception_v3

}  // namespace cornu::applications
