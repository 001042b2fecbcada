// SPDX-License-Identifier: Apache-2.0
// How a model of keras.applications is made around its features. Internal: applications' .cc files
// include it.
#pragma once

#include <functional>
#include <string>

#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

struct Architecture {
  std::string who;  // begins errors: "ResNet50"
  int64_t default_size = 224;
  int64_t min_size = 32;
  // Names of the pooling layers; empty: numbered.
  std::string top_pooling = "avg_pool";
  std::string avg_pooling = "avg_pool";
  std::string max_pooling = "max_pool";
  // From pictures to (batch, rows, columns, features).
  std::function<Tensor(const Tensor&)> features;
  // What lies between features and classes; empty: global average pooling.
  std::function<Tensor(const Tensor&)> head = {};
  Initializer classes_initializer = "glorot_uniform";
  // All from features to predictions, for so many classes; empty: `head` and a Dense layer.
  std::function<Tensor(const Tensor& x, const ApplicationOptions& options)> top = {};
  // What follows the pooling, if any, where there is no top; empty: nothing.
  std::function<Tensor(const Tensor&)> without_top = {};
  bool any_size = false;  // takes pictures of any size with its top, too
  // Of the model, of its input's shape.
  std::function<std::string(const Shape&)> name;
  // Of the file with the weights of ImageNet: its path in Keras's storage,
  // "tensorflow/keras-applications/resnet/resnet50_weights….h5".
  std::function<std::string(const Shape&)> file;
  std::string cached = {};  // its name in Keras's cache, where that is another
};

// `who` in lower case as the name, and the files as most of Keras's are called.
Architecture named_architecture(const std::string& who, const std::string& folder,
                                bool include_top);

// What most models are given, of a family that is given more.
template <class Options>
ApplicationOptions application_options(const Options& options) {
  return {.include_top = options.include_top,
          .weights = options.weights,
          .input_tensor = options.input_tensor,
          .input_shape = options.input_shape,
          .pooling = options.pooling,
          .classes = options.classes,
          .classifier_activation = options.classifier_activation,
          .name = options.name};
}

// The model with its weights. InvalidArgument for options that don't go together, NotFound for
// weights that aren't there.
Model build(const Architecture& architecture, const ApplicationOptions& options);

}  // namespace cornu::applications
