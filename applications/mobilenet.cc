// SPDX-License-Identifier: Apache-2.0
#include "applications/mobilenet.h"

#include <algorithm>
#include <array>

#include "applications/architecture.h"
#include "applications/imagenet.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

constexpr char kMobileNet[] = "MobileNet";
constexpr std::array<int64_t, 4> kMobileNetSizes = {128, 160, 192, 224};
constexpr std::array<std::pair<double, const char*>, 4> kMobileNetAlphas = {
    {{0.25, "2_5"}, {0.5, "5_0"}, {0.75, "7_5"}, {1.0, "1_0"}}};

struct SeparableBlock {
  int64_t filters;
  int64_t stride;
};

constexpr std::array<SeparableBlock, 13> kSeparableBlocks = {{{64, 1},
                                                              {128, 2},
                                                              {128, 1},
                                                              {256, 2},
                                                              {256, 1},
                                                              {512, 2},
                                                              {512, 1},
                                                              {512, 1},
                                                              {512, 1},
                                                              {512, 1},
                                                              {512, 1},
                                                              {1024, 2},
                                                              {1024, 1}}};

// The image size for which weights for this shape were trained.
int64_t mobilenet_size(const OptionalShape& shape) {
  if (!shape || shape->rank() != 3) return 224;
  const int64_t rows = (*shape)[0];
  const bool known = std::count(kMobileNetSizes.begin(), kMobileNetSizes.end(), rows) > 0;
  return known && rows == (*shape)[1] ? rows : 224;
}

std::string mobilenet_file(const MobileNetOptions& options, const Shape& shape) {
  check<InvalidArgument>(options.depth_multiplier == 1,
                         "{}: expected a depth_multiplier of 1 with the weights of ImageNet, got "
                         "{}.",
                         kMobileNet, options.depth_multiplier);
  const auto* alpha = std::find_if(kMobileNetAlphas.begin(), kMobileNetAlphas.end(),
                                   [&](const auto& item) { return item.first == options.alpha; });
  check<InvalidArgument>(alpha != kMobileNetAlphas.end(),
                         "{}: expected alpha to be one of 0.25, 0.5, 0.75, 1, as there are weights "
                         "of ImageNet for, got {}.",
                         kMobileNet, options.alpha);
  return fmt::format("tensorflow/keras-applications/mobilenet/mobilenet_{}_{}_tf{}.h5",
                     alpha->second, mobilenet_size(shape), options.include_top ? "" : "_no_top");
}

Tensor normalized_relu6(const Tensor& x, const std::string& name) {
  const Tensor y = layers::BatchNormalization({.name = name + "_bn"})(x);
  return layers::ReLU({.max_value = 6.0, .name = name + "_relu"})(y);
}

Tensor separable_block(Tensor x, const SeparableBlock& block, const MobileNetOptions& options,
                       size_t number) {
  if (block.stride != 1) {
    x = layers::ZeroPadding2D(
        {.padding = {{0, 1}, {0, 1}}, .name = fmt::format("conv_pad_{}", number)})(x);
  }
  const std::string depthwise = fmt::format("conv_dw_{}", number);
  x = layers::DepthwiseConv2D({.kernel_size = 3,
                               .strides = block.stride,
                               .padding = block.stride == 1 ? "same" : "valid",
                               .depth_multiplier = options.depth_multiplier,
                               .use_bias = false,
                               .name = depthwise})(x);
  x = normalized_relu6(x, depthwise);
  const std::string pointwise = fmt::format("conv_pw_{}", number);
  x = layers::Conv2D(
      {.filters = static_cast<int64_t>(static_cast<double>(block.filters) * options.alpha),
       .kernel_size = 1,
       .padding = "same",
       .use_bias = false,
       .name = pointwise})(x);
  return normalized_relu6(x, pointwise);
}

Tensor mobilenet_features(const Tensor& inputs, const MobileNetOptions& options) {
  Tensor x = layers::Conv2D({.filters = static_cast<int64_t>(32 * options.alpha),
                             .kernel_size = 3,
                             .strides = 2,
                             .padding = "same",
                             .use_bias = false,
                             .name = "conv1"})(inputs);
  x = normalized_relu6(x, "conv1");
  for (size_t i = 0; i < kSeparableBlocks.size(); ++i) {
    x = separable_block(x, kSeparableBlocks[i], options, i + 1);
  }
  return x;
}

Tensor mobilenet_top(const Tensor& features, const MobileNetOptions& options) {
  Tensor x = layers::GlobalAveragePooling2D({.keepdims = true})(features);
  x = layers::Dropout({.rate = options.dropout, .name = "dropout"})(x);
  x = layers::Conv2D(
      {.filters = options.classes, .kernel_size = 1, .padding = "same", .name = "conv_preds"})(x);
  x = layers::Reshape({.target_shape = Shape{options.classes}, .name = "reshape_2"})(x);
  return layers::Activation({.activation = options.classifier_activation, .name = "predictions"})(
      x);
}

}  // namespace

Model MobileNet(const MobileNetOptions& options) {
  check<InvalidArgument>(options.alpha > 0, "{}: expected alpha > 0, got {}.", kMobileNet,
                         options.alpha);
  const Architecture architecture = {
      .who = kMobileNet,
      .default_size = mobilenet_size(options.input_shape),
      .top_pooling = {},
      .avg_pooling = {},
      .max_pooling = {},
      .features = [&](const Tensor& x) { return mobilenet_features(x, options); },
      .top = [&](const Tensor& x, const ApplicationOptions&) { return mobilenet_top(x, options); },
      .name =
          [&](const Shape& shape) {
            const int64_t rows = options.weights.imagenet() ? mobilenet_size(shape) : shape[0];
            return fmt::format("mobilenet_{:.2f}_{}", options.alpha,
                               rows == kUnknown ? "None" : fmt::format("{}", rows));
          },
      .file = [&](const Shape& shape) { return mobilenet_file(options, shape); }};
  return build(architecture, application_options(options));
}

Tensor mobilenet::preprocess_input(const Tensor& x) {
  return imagenet_utils::preprocess_input(x, imagenet_utils::PreprocessMode::Tf);
}

}  // namespace cornu::applications
