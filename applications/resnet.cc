// SPDX-License-Identifier: Apache-2.0
#include "applications/resnet.h"

#include <array>

#include "applications/architecture.h"
#include "applications/blocks.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

using Depths = std::array<int64_t, 4>;  // number of blocks in each stack

constexpr Depths kDepths50 = {3, 4, 6, 3};
constexpr Depths kDepths101 = {3, 4, 23, 3};
constexpr Depths kDepths152 = {3, 8, 36, 3};

Tensor convolved(const Tensor& x, int64_t filters, int64_t stride, const std::string& name,
                 bool use_bias = true) {
  return layers::Conv2D({.filters = filters,
                         .kernel_size = 1,
                         .strides = stride,
                         .use_bias = use_bias,
                         .name = name})(x);
}

Tensor residual_v1(const Tensor& inputs, int64_t filters, int64_t stride, bool project,
                   const std::string& name) {
  Tensor shortcut = inputs;
  if (project) {
    shortcut = convolved(inputs, 4 * filters, stride, name + "_0_conv");
    shortcut = normalized(shortcut, name + "_0_bn");
  }
  Tensor x = convolved(inputs, filters, stride, name + "_1_conv");
  x = rectified(normalized(x, name + "_1_bn"), name + "_1_relu");
  x = layers::Conv2D(
      {.filters = filters, .kernel_size = 3, .padding = "same", .name = name + "_2_conv"})(x);
  x = rectified(normalized(x, name + "_2_bn"), name + "_2_relu");
  x = normalized(convolved(x, 4 * filters, 1, name + "_3_conv"), name + "_3_bn");
  x = layers::Add({.name = name + "_add"})({shortcut, x});
  return rectified(x, name + "_out");
}

Tensor residual_v2(const Tensor& inputs, int64_t filters, int64_t stride, bool project,
                   const std::string& name) {
  const Tensor before = rectified(normalized(inputs, name + "_preact_bn"), name + "_preact_relu");
  Tensor shortcut = inputs;
  if (project) {
    shortcut = convolved(before, 4 * filters, stride, name + "_0_conv");
  } else if (stride > 1) {
    shortcut = layers::MaxPooling2D({.pool_size = 1, .strides = stride})(inputs);
  }
  Tensor x = convolved(before, filters, 1, name + "_1_conv", false);
  x = rectified(normalized(x, name + "_1_bn"), name + "_1_relu");
  x = padded(x, 1, name + "_2_pad");
  x = layers::Conv2D({.filters = filters,
                      .kernel_size = 3,
                      .strides = stride,
                      .use_bias = false,
                      .name = name + "_2_conv"})(x);
  x = rectified(normalized(x, name + "_2_bn"), name + "_2_relu");
  x = convolved(x, 4 * filters, 1, name + "_3_conv");
  return layers::Add({.name = name + "_out"})({shortcut, x});
}

// The first version halves images at the start of each stack except the first; the second at the
// end of each stack except the last.
Tensor stacks(Tensor x, const Depths& depths, bool v2) {
  int64_t filters = 64;
  for (size_t stack = 0; stack < depths.size(); ++stack, filters *= 2) {
    const bool halves = stack != (v2 ? depths.size() - 1 : 0);
    const int64_t at = v2 ? depths[stack] : 1;
    for (int64_t block = 1; block <= depths[stack]; ++block) {
      const std::string name = fmt::format("conv{}_block{}", stack + 2, block);
      const int64_t stride = halves && block == at ? 2 : 1;
      x = (v2 ? residual_v2 : residual_v1)(x, filters, stride, block == 1, name);
    }
  }
  return x;
}

Tensor resnet_features(const Tensor& inputs, const Depths& depths, bool v2) {
  Tensor x = padded(inputs, 3, "conv1_pad");
  x = layers::Conv2D({.filters = 64, .kernel_size = 7, .strides = 2, .name = "conv1_conv"})(x);
  if (!v2) x = rectified(normalized(x, "conv1_bn"), "conv1_relu");
  x = padded(x, 1, "pool1_pad");
  x = layers::MaxPooling2D({.pool_size = 3, .strides = 2, .name = "pool1_pool"})(x);
  x = stacks(x, depths, v2);
  return v2 ? rectified(normalized(x, "post_bn"), "post_relu") : x;
}

Model resnet_model(const std::string& who, const Depths& depths, bool v2,
                   const ApplicationOptions& options) {
  Architecture architecture = named_architecture(who, "resnet", options.include_top);
  architecture.features = [&](const Tensor& x) { return resnet_features(x, depths, v2); };
  return build(architecture, options);
}

}  // namespace

Model ResNet50(const ApplicationOptions& options) {
  return resnet_model("ResNet50", kDepths50, false, options);
}

Model ResNet101(const ApplicationOptions& options) {
  return resnet_model("ResNet101", kDepths101, false, options);
}

Model ResNet152(const ApplicationOptions& options) {
  return resnet_model("ResNet152", kDepths152, false, options);
}

Model ResNet50V2(const ApplicationOptions& options) {
  return resnet_model("ResNet50V2", kDepths50, true, options);
}

Model ResNet101V2(const ApplicationOptions& options) {
  return resnet_model("ResNet101V2", kDepths101, true, options);
}

Model ResNet152V2(const ApplicationOptions& options) {
  return resnet_model("ResNet152V2", kDepths152, true, options);
}

Tensor resnet::preprocess_input(const Tensor& x) {
  return imagenet_utils::preprocess_input(x, imagenet_utils::PreprocessMode::Caffe);
}

Tensor resnet_v2::preprocess_input(const Tensor& x) {
  return imagenet_utils::preprocess_input(x, imagenet_utils::PreprocessMode::Tf);
}

}  // namespace cornu::applications
