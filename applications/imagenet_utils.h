// SPDX-License-Identifier: Apache-2.0
// keras.applications.imagenet_utils: preprocesses images and decodes predictions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::applications {

// One of an image's most likely classes.
struct Prediction {
  std::string class_id;  // WordNet id, "n02123045"
  std::string name;      // "tabby"
  double score = 0;
};

namespace imagenet_utils {

// How pixels in [0, 255], with channels (…, red green blue), are scaled. Caffe: to blue, green,
// red, minus the ImageNet mean; Tf: to [-1, 1]; Torch: to [0, 1], then normalized by the ImageNet
// mean and standard deviation.
enum class PreprocessMode { Caffe, Tf, Torch };

// Integers are converted to float32; floating dtypes are kept. Also accepts placeholders. Throws
// InvalidArgument unless there are 3 channels, except for Tf, which accepts any shape.
Tensor preprocess_input(const Tensor& x, PreprocessMode mode = PreprocessMode::Caffe);

// Returns the `top` most likely classes of each image, in descending order. `preds` is (samples,
// 1000). Class names are read from imagenet_class_index.json in Keras's cache, ~/.keras/models (or
// $KERAS_HOME/models). Throws NotFound, saying where to get the file, if it is missing, and
// DataLoss if it is invalid; InvalidArgument for another shape or top < 1.
std::vector<std::vector<Prediction>> decode_predictions(const Tensor& preds, int64_t top = 5);

}  // namespace imagenet_utils

}  // namespace cornu::applications
