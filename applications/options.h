// SPDX-License-Identifier: Apache-2.0
// What most models of keras.applications are given.
#pragma once

#include <cstdint>
#include <string>

#include "applications/weights.h"
#include "framework/model/parts.h"

namespace cornu::applications {

// In the order of Keras's arguments.
struct ApplicationOptions {
  bool include_top = true;
  // None: random; a file's path; "imagenet": the file that Keras keeps in ~/.keras/models (or
  // $KERAS_HOME/models). Nothing is downloaded: NotFound, which says what to get, unless it is
  // there.
  Weights weights = "imagenet";
  Tensor input_tensor = {};  // a placeholder to build on, instead of a new Input
  // (height, width, channels). None: the model's own size, or pictures of any size without
  // include_top.
  OptionalShape input_shape = {};
  // Without include_top: "avg" or "max" over what lies under a picture; empty: (batch, rows,
  // columns, features).
  std::string pooling = {};
  int64_t classes = 1000;
  Activation classifier_activation = "softmax";
  std::string name = {};  // None: the function's name in lower case, "resnet50"
};

}  // namespace cornu::applications
