// SPDX-License-Identifier: Apache-2.0
#include "applications/xception.h"

#include <initializer_list>

#include "applications/architecture.h"
#include "applications/blocks.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

// A layer's normalization, named after the layer if that has a name.
Tensor standardized(const Tensor& x, const std::string& name) {
  return layers::BatchNormalization({.name = name.empty() ? name : name + "_bn"})(x);
}

Tensor separated(const Tensor& x, int64_t filters, const std::string& name) {
  const Tensor y = layers::SeparableConv2D(
      {.filters = filters, .kernel_size = 3, .padding = "same", .use_bias = false, .name = name})(
      x);
  return standardized(y, name);
}

// The first two convolutions.
Tensor entered(const Tensor& x, int64_t filters, int64_t stride, const std::string& name) {
  const Tensor y = layers::Conv2D(
      {.filters = filters, .kernel_size = 3, .strides = stride, .use_bias = false, .name = name})(
      x);
  return rectified(standardized(y, name), name + "_act");
}

// Separable convolutions, each after a relu (except the first one in block 2, whose input is
// already rectified).
Tensor separated_block(Tensor x, int block, std::initializer_list<int64_t> filters) {
  int number = 0;
  for (const int64_t of_one : filters) {
    const std::string name = fmt::format("block{}_sepconv{}", block, ++number);
    if (block > 2 || number > 1) x = rectified(x, name + "_act");
    x = separated(x, of_one, name);
  }
  return x;
}

// A block that halves images, with a projection in parallel.
Tensor halving_block(const Tensor& inputs, int block, int64_t first, int64_t filters) {
  Tensor residual = layers::Conv2D(
      {.filters = filters, .kernel_size = 1, .strides = 2, .padding = "same", .use_bias = false})(
      inputs);
  residual = standardized(residual, {});
  Tensor x = separated_block(inputs, block, {first, filters});
  x = layers::MaxPooling2D({.pool_size = 3,
                            .strides = 2,
                            .padding = "same",
                            .name = fmt::format("block{}_pool", block)})(x);
  return layers::Add()({x, residual});
}

Tensor xception_features(const Tensor& inputs) {
  Tensor x = entered(inputs, 32, 2, "block1_conv1");
  x = entered(x, 64, 1, "block1_conv2");
  x = halving_block(x, 2, 128, 128);
  x = halving_block(x, 3, 256, 256);
  x = halving_block(x, 4, 728, 728);
  for (int block = 5; block <= 12; ++block) {
    x = layers::Add()({separated_block(x, block, {728, 728, 728}), x});
  }
  x = halving_block(x, 13, 728, 1024);
  x = rectified(separated(x, 1536, "block14_sepconv1"), "block14_sepconv1_act");
  return rectified(separated(x, 2048, "block14_sepconv2"), "block14_sepconv2_act");
}

}  // namespace

Model Xception(const ApplicationOptions& options) {
  Architecture architecture = named_architecture("Xception", "xception", options.include_top);
  architecture.default_size = 299;
  architecture.min_size = 71;
  architecture.avg_pooling = architecture.max_pooling = {};
  architecture.features = xception_features;
  return build(architecture, options);
}

Tensor xception::preprocess_input(const Tensor& x) {
  return imagenet_utils::preprocess_input(x, imagenet_utils::PreprocessMode::Tf);
}

}  // namespace cornu::applications
