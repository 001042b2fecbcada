// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.DenseNet121, 169 and 201 (Huang et al., "Densely connected convolutional
// networks", CVPR 2017), for images from densenet::preprocess_input, with sides of at least 32.
// Weight files and errors are as for ResNet50.
Model DenseNet121(const ApplicationOptions& options = {});
Model DenseNet169(const ApplicationOptions& options = {});
Model DenseNet201(const ApplicationOptions& options = {});

namespace densenet {

// Subtracts each channel's ImageNet mean and divides by its standard deviation.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace densenet

}  // namespace cornu::applications
