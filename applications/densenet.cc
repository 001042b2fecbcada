// SPDX-License-Identifier: Apache-2.0
#include "applications/densenet.h"

#include <array>

#include "applications/architecture.h"
#include "applications/blocks.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

// Batch normalization and relu, followed by a convolution with a kernel of 1 or 3.
Tensor dense_convolved(const Tensor& x, int64_t filters, int64_t kernel, const std::string& name) {
  return layers::Conv2D({.filters = filters,
                         .kernel_size = kernel,
                         .padding = kernel == 1 ? "valid" : "same",
                         .use_bias = false,
                         .name = name})(x);
}

// Concatenates 32 new features to `x`.
Tensor grown(const Tensor& x, const std::string& name) {
  constexpr int64_t kGrowth = 32;
  Tensor more = rectified(normalized(x, name + "_0_bn"), name + "_0_relu");
  more = dense_convolved(more, 4 * kGrowth, 1, name + "_1_conv");
  more = rectified(normalized(more, name + "_1_bn"), name + "_1_relu");
  more = dense_convolved(more, kGrowth, 3, name + "_2_conv");
  return layers::Concatenate({.axis = 3, .name = name + "_concat"})({x, more});
}

// Halves the number of features, the width and the height.
Tensor transition(const Tensor& inputs, const std::string& name) {
  Tensor x = rectified(normalized(inputs, name + "_bn"), name + "_relu");
  x = dense_convolved(x, inputs.shape().back() / 2, 1, name + "_conv");
  return layers::AveragePooling2D({.pool_size = 2, .strides = 2, .name = name + "_pool"})(x);
}

Tensor densenet_features(const Tensor& inputs, const std::array<int, 4>& depths) {
  Tensor x = padded(inputs, 3);
  x = layers::Conv2D(
      {.filters = 64, .kernel_size = 7, .strides = 2, .use_bias = false, .name = "conv1_conv"})(x);
  x = padded(rectified(normalized(x, "conv1_bn"), "conv1_relu"), 1);
  x = layers::MaxPooling2D({.pool_size = 3, .strides = 2, .name = "pool1"})(x);
  for (size_t stack = 0; stack < depths.size(); ++stack) {
    if (stack) x = transition(x, fmt::format("pool{}", stack + 1));
    for (int block = 1; block <= depths[stack]; ++block) {
      x = grown(x, fmt::format("conv{}_block{}", stack + 2, block));
    }
  }
  return rectified(normalized(x, "bn"), "relu");
}

Model densenet_model(const std::string& who, const std::array<int, 4>& depths,
                     const ApplicationOptions& options) {
  Architecture architecture = named_architecture(who, "densenet", options.include_top);
  architecture.features = [&](const Tensor& x) { return densenet_features(x, depths); };
  return build(architecture, options);
}

}  // namespace

Model DenseNet121(const ApplicationOptions& options) {
  return densenet_model("DenseNet121", {6, 12, 24, 16}, options);
}

Model DenseNet169(const ApplicationOptions& options) {
  return densenet_model("DenseNet169", {6, 12, 32, 32}, options);
}

Model DenseNet201(const ApplicationOptions& options) {
  return densenet_model("DenseNet201", {6, 12, 48, 32}, options);
}

Tensor densenet::preprocess_input(const Tensor& x) {
  return imagenet_utils::preprocess_input(x, imagenet_utils::PreprocessMode::Torch);
}

}  // namespace cornu::applications
