// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.VGG16 and VGG19 (Simonyan and Zisserman, "Very deep convolutional networks for
// large-scale image recognition", ICLR 2015), for images from vgg16::preprocess_input, with sides
// of at least 32. Weight files and errors are as for ResNet50.
Model VGG16(const ApplicationOptions& options = {});
Model VGG19(const ApplicationOptions& options = {});

namespace vgg16 {

// Converts to blue, green, red and subtracts the ImageNet means.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace vgg16

namespace vgg19 {

using imagenet_utils::decode_predictions;
using vgg16::preprocess_input;

}  // namespace vgg19

}  // namespace cornu::applications
