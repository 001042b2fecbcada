// SPDX-License-Identifier: Apache-2.0
// Options that most models of keras.applications share.
#pragma once

#include <cstdint>
#include <string>

#include "applications/weights.h"
#include "framework/model/parts.h"

namespace cornu::applications {

// In the order of Keras's arguments.
struct ApplicationOptions {
  bool include_top = true;
  // None: random; the path of a file; or "imagenet": the file that Keras stores in ~/.keras/models
  // (or $KERAS_HOME/models). Nothing is downloaded: throws NotFound, saying what to get, if the
  // file is missing.
  Weights weights = "imagenet";
  Tensor input_tensor = {};  // a placeholder to build on, instead of a new Input
  // (height, width, channels). None: the model's default size, or images of any size without
  // include_top.
  OptionalShape input_shape = {};
  // Without include_top: "avg" or "max" pooling over rows and columns; empty: none, (batch, rows,
  // columns, features).
  std::string pooling = {};
  int64_t classes = 1000;
  Activation classifier_activation = "softmax";
  std::string name = {};  // None: the function's name in lower case, "resnet50"
};

}  // namespace cornu::applications
