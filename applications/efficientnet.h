// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.EfficientNetB0 to B7 (Tan and Le, "EfficientNet: rethinking model scaling for
// convolutional neural networks", ICML 2019), for pixels in [0, 255] and image sides of at least
// 32; 224, 240, 260, 300, 380, 456, 528 and 600 are usual. Weight files and errors are as for
// ResNet50.
Model EfficientNetB0(const ApplicationOptions& options = {});
Model EfficientNetB1(const ApplicationOptions& options = {});
Model EfficientNetB2(const ApplicationOptions& options = {});
Model EfficientNetB3(const ApplicationOptions& options = {});
Model EfficientNetB4(const ApplicationOptions& options = {});
Model EfficientNetB5(const ApplicationOptions& options = {});
Model EfficientNetB6(const ApplicationOptions& options = {});
Model EfficientNetB7(const ApplicationOptions& options = {});

namespace efficientnet {

// Returns `x`: the models scale pixels themselves.
inline Tensor preprocess_input(const Tensor& x) { return x; }
using imagenet_utils::decode_predictions;

}  // namespace efficientnet

}  // namespace cornu::applications
