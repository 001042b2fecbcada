// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.ResNet50, 101 and 152 (He et al., "Deep residual learning for image
// recognition", CVPR 2016), for pictures that resnet::preprocess_input made, each side at least 32.
// Layers have Keras's names, so that its files of weights load. Errors: InvalidArgument for options
// that don't go together; NotFound for weights that aren't there.
Model ResNet50(const ApplicationOptions& options = {});
Model ResNet101(const ApplicationOptions& options = {});
Model ResNet152(const ApplicationOptions& options = {});

// Normalized and rectified before each convolution (He et al., "Identity mappings in deep residual
// networks", ECCV 2016), for pictures that resnet_v2::preprocess_input made.
Model ResNet50V2(const ApplicationOptions& options = {});
Model ResNet101V2(const ApplicationOptions& options = {});
Model ResNet152V2(const ApplicationOptions& options = {});

namespace resnet {

// Blue, green, red, each less its mean in ImageNet.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace resnet

namespace resnet_v2 {

// -1 to 1.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace resnet_v2

}  // namespace cornu::applications
