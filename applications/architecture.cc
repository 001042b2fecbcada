// SPDX-License-Identifier: Apache-2.0
#include "applications/architecture.h"

#include <algorithm>
#include <filesystem>

#include "applications/imagenet.h"
#include "framework/core/ascii.h"
#include "framework/core/error.h"
#include "framework/model/functional.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

void check_application_options(const std::string& who, const ApplicationOptions& options) {
  check_weights(who, options.weights);
  check<InvalidArgument>(options.classes > 0, "{}: expected classes > 0, got {}.", who,
                         options.classes);
  check<InvalidArgument>(
      options.pooling.empty() || options.pooling == "avg" || options.pooling == "max",
      "{}: expected pooling 'avg', 'max' or none, got '{}'.", who, options.pooling);
  check<InvalidArgument>(
      !options.weights.imagenet() || !options.include_top || options.classes == 1000,
      "{}: expected 1000 classes with include_top and the weights of ImageNet, got {}.", who,
      options.classes);
  if (!options.input_tensor.defined()) return;
  const Tensor& x = options.input_tensor;
  check<InvalidArgument>(is_placeholder(x),
                         "{}: expected input_tensor to be a placeholder, of Input or of layers "
                         "called on one, got a tensor of shape {}.",
                         who, x.shape());
  check<InvalidArgument>(x.rank() == 4,
                         "{}: expected input_tensor (batch, height, width, channels), got {}.", who,
                         x.shape());
  check<InvalidArgument>(!options.input_shape || options.input_shape->rank() != 3 ||
                             x.shape()[2] == (*options.input_shape)[1],
                         "{}: expected input_tensor {} to be as wide as input_shape {}.", who,
                         x.shape(), options.input_shape.value_or(Shape()));
}

// Returns the path of the ImageNet weights file in Keras's cache.
std::string imagenet_file(const std::string& who, const std::string& file,
                          const std::string& cached) {
  const std::string path =
      cached_file(cached.empty() ? std::filesystem::path(file).filename().string() : cached);
  std::error_code ignored;
  check<NotFound>(
      std::filesystem::exists(path, ignored),
      "{}: the weights of ImageNet aren't downloaded by themselves. Give the path of their file as "
      ".weights (Keras has it at https://storage.googleapis.com/{}), "
      "or .weights = nullptr for random ones.",
      who, file);
  return path;
}

Tensor pooled_features(const Architecture& architecture, const ApplicationOptions& options,
                       const Tensor& x) {
  if (options.pooling == "avg") {
    return layers::GlobalAveragePooling2D({.name = architecture.avg_pooling})(x);
  }
  if (options.pooling == "max") {
    return layers::GlobalMaxPooling2D({.name = architecture.max_pooling})(x);
  }
  return x;
}

Tensor pooled(const Architecture& architecture, const ApplicationOptions& options,
              const Tensor& x) {
  if (options.include_top && architecture.top) return architecture.top(x, options);
  if (options.include_top) {
    Tensor y;
    if (architecture.head) {
      y = architecture.head(x);
    } else {
      y = layers::GlobalAveragePooling2D({.name = architecture.top_pooling})(x);
    }
    return layers::Dense({.units = options.classes,
                          .activation = options.classifier_activation,
                          .kernel_initializer = architecture.classes_initializer,
                          .name = "predictions"})(y);
  }
  const Tensor y = pooled_features(architecture, options, x);
  return architecture.without_top ? architecture.without_top(y) : y;
}

}  // namespace

Architecture named_architecture(const std::string& who, const std::string& folder,
                                bool include_top) {
  std::string name = who;
  std::transform(name.begin(), name.end(), name.begin(), ascii::to_lower);
  const std::string file =
      fmt::format("tensorflow/keras-applications/{}/{}_weights_tf_dim_ordering_tf_kernels{}.h5",
                  folder, name, include_top ? "" : "_notop");
  return {.who = who,
          .features = {},
          .name = [name](const Shape&) { return name; },
          .file = [file](const Shape&) { return file; }};
}

Model build(const Architecture& architecture, const ApplicationOptions& options) {
  const std::string& who = architecture.who;
  check_application_options(who, options);
  const Shape shape =
      obtain_input_shape(who, options.input_shape,
                         {.default_size = architecture.default_size,
                          .min_size = architecture.min_size,
                          .include_top = options.include_top && !architecture.any_size,
                          .imagenet = options.weights.imagenet()});
  if (options.include_top) check_classifier(who, options.classifier_activation, options.weights);
  std::string path;
  if (options.weights.imagenet()) {
    path = imagenet_file(who, architecture.file(shape), architecture.cached);
  } else if (options.weights.given()) {
    path = options.weights.path();
  }
  const bool given = options.input_tensor.defined();
  const Tensor inputs = given ? options.input_tensor : Input({.shape = shape});
  const Tensor outputs = pooled(architecture, options, architecture.features(inputs));
  Model model(given ? source_inputs(inputs) : Tensors(inputs), outputs,
              {.name = options.name.empty() ? architecture.name(shape) : options.name});
  if (!path.empty()) model.load_weights(path);
  return model;
}

}  // namespace cornu::applications
