// SPDX-License-Identifier: Apache-2.0
// keras.applications.imagenet_utils: pictures as models want them, and what predictions mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::applications {

// One of a picture's most likely classes.
struct Prediction {
  std::string class_id;  // of WordNet, "n02123045"
  std::string name;      // "tabby"
  double score = 0;
};

namespace imagenet_utils {

// How pixels of 0 to 255, (…, red green blue), are scaled: Caffe: blue, green, red, each less its
// mean in ImageNet; Tf: -1 to 1; Torch: 0 to 1, then each less its mean, in standard deviations.
enum class PreprocessMode { Caffe, Tf, Torch };

// Integers become float32; floating types stay. Takes placeholders too. InvalidArgument unless
// there are 3 channels, but for Tf, which takes any shape.
Tensor preprocess_input(const Tensor& x, PreprocessMode mode = PreprocessMode::Caffe);

// The `top` likeliest classes of each picture, the likeliest first. `preds` is (samples, 1000). The
// names are read from imagenet_class_index.json in Keras's cache, ~/.keras/models (or
// $KERAS_HOME/models): NotFound, which says where to get it, if it isn't there, DataLoss if it is
// something else. InvalidArgument for another shape, or top < 1.
std::vector<std::vector<Prediction>> decode_predictions(const Tensor& preds, int64_t top = 5);

}  // namespace imagenet_utils

}  // namespace cornu::applications
