// SPDX-License-Identifier: Apache-2.0
// How the models of keras.applications are built around their feature extractors. Internal:
// included by applications' .cc files.
#pragma once

#include <functional>
#include <string>

#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

struct Architecture {
  std::string who;  // prefix of errors: "ResNet50"
  int64_t default_size = 224;
  int64_t min_size = 32;
  // Names of the pooling layers; empty: numbered.
  std::string top_pooling = "avg_pool";
  std::string avg_pooling = "avg_pool";
  std::string max_pooling = "max_pool";
  // Maps images to (batch, rows, columns, features).
  std::function<Tensor(const Tensor&)> features;
  // The layers between features and the classifier; empty: global average pooling.
  std::function<Tensor(const Tensor&)> head = {};
  Initializer classes_initializer = "glorot_uniform";
  // Everything from features to predictions, for the given options; empty: `head` and a Dense
  // layer.
  std::function<Tensor(const Tensor& x, const ApplicationOptions& options)> top = {};
  // What follows the pooling, if any, without a top; empty: nothing.
  std::function<Tensor(const Tensor&)> without_top = {};
  bool any_size = false;  // accepts images of any size even with its top
  // The model's name for this input shape.
  std::function<std::string(const Shape&)> name;
  // The file with ImageNet weights: its path in Keras's storage,
  // "tensorflow/keras-applications/resnet/resnet50_weights….h5".
  std::function<std::string(const Shape&)> file;
  std::string cached = {};  // its name in Keras's cache, if different
};

// Uses `who` in lower case as the name, and the file naming scheme of most Keras models.
Architecture named_architecture(const std::string& who, const std::string& folder,
                                bool include_top);

// Extracts the options that most models share from those of a family with further options.
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

// Creates the model with its weights. Throws InvalidArgument for inconsistent options, and NotFound
// for missing weights.
Model build(const Architecture& architecture, const ApplicationOptions& options);

}  // namespace cornu::applications
