// SPDX-License-Identifier: Apache-2.0
#include "applications/mobilenet_v2.h"

#include <algorithm>
#include <array>

#include "applications/architecture.h"
#include "applications/imagenet.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

constexpr char kWho[] = "MobileNetV2";
constexpr std::array<int64_t, 5> kTrainedSizes = {96, 128, 160, 192, 224};
constexpr std::array<double, 6> kTrainedAlphas = {0.35, 0.5, 0.75, 1.0, 1.3, 1.4};

int64_t trained_size(int64_t rows, int64_t columns) {
  const bool trained =
      std::find(kTrainedSizes.begin(), kTrainedSizes.end(), rows) != kTrainedSizes.end();
  return rows == columns && trained ? rows : 224;
}

void check_alpha(const MobileNetV2Options& options) {
  check<InvalidArgument>(options.alpha > 0, "{}: expected alpha > 0, got {}.", kWho, options.alpha);
}

int64_t default_size_of(const MobileNetV2Options& options) {
  if (options.input_shape && options.input_shape->rank() == 3) {
    return trained_size((*options.input_shape)[0], (*options.input_shape)[1]);
  }
  if (options.input_tensor.defined() && options.input_tensor.rank() == 4) {
    const Shape& shape = options.input_tensor.shape();
    return trained_size(shape[1], shape[2]);
  }
  return 224;
}

std::string weights_file(const MobileNetV2Options& options, const Shape& shape) {
  const bool trained = std::find(kTrainedAlphas.begin(), kTrainedAlphas.end(), options.alpha) !=
                       kTrainedAlphas.end();
  check<InvalidArgument>(
      trained,
      "{}: expected alpha to be one of {}, as there are weights of ImageNet for, "
      "got {}.",
      kWho, fmt::join(kTrainedAlphas, ", "), options.alpha);
  // Formatted like Python: 1.0, 0.35.
  std::string alpha = fmt::format("{}", options.alpha);
  if (alpha.find('.') == std::string::npos) alpha += ".0";
  return fmt::format(
      "tensorflow/keras-applications/mobilenet_v2/"
      "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{}_{}{}.h5",
      alpha, trained_size(shape[0], shape[1]), options.include_top ? "" : "_no_top");
}

Tensor batch_normalized(const Tensor& x, const std::string& name) {
  return layers::BatchNormalization({.momentum = 0.999, .epsilon = 1e-3, .name = name})(x);
}

Tensor relu6(const Tensor& x, const std::string& name) {
  return layers::ReLU({.max_value = 6.0, .name = name})(x);
}

// A pointwise convolution and its normalization.
Tensor projected(const Tensor& x, int64_t filters, const std::string& name,
                 const std::string& normalization) {
  const Tensor y = layers::Conv2D(
      {.filters = filters, .kernel_size = 1, .padding = "same", .use_bias = false, .name = name})(
      x);
  return batch_normalized(y, normalization);
}

struct Block {
  int64_t filters;
  int64_t stride;
};

constexpr std::array<Block, 17> kBlocks = {{{16, 1},
                                            {24, 2},
                                            {24, 1},
                                            {32, 2},
                                            {32, 1},
                                            {32, 1},
                                            {64, 2},
                                            {64, 1},
                                            {64, 1},
                                            {64, 1},
                                            {96, 1},
                                            {96, 1},
                                            {96, 1},
                                            {160, 2},
                                            {160, 1},
                                            {160, 1},
                                            {320, 1}}};

Tensor inverted_residual(const Tensor& inputs, const Block& block, double alpha, size_t number) {
  constexpr int64_t kExpansion = 6;
  const int64_t channels = inputs.shape().back();
  const std::string prefix = number ? fmt::format("block_{}_", number) : "expanded_conv_";
  Tensor x = inputs;
  if (number) {
    x = projected(x, kExpansion * channels, prefix + "expand", prefix + "expand_BN");
    x = relu6(x, prefix + "expand_relu");
  }
  if (block.stride == 2) {
    const auto [rows, columns] = correct_pad(x, 3);
    x = layers::ZeroPadding2D(
        {.padding = {{rows.first, rows.second}, {columns.first, columns.second}},
         .name = prefix + "pad"})(x);
  }
  x = layers::DepthwiseConv2D({.kernel_size = 3,
                               .strides = block.stride,
                               .padding = block.stride == 1 ? "same" : "valid",
                               .use_bias = false,
                               .name = prefix + "depthwise"})(x);
  x = relu6(batch_normalized(x, prefix + "depthwise_BN"), prefix + "depthwise_relu");
  const auto filters = static_cast<int64_t>(static_cast<double>(block.filters) * alpha);
  const int64_t outputs = make_divisible(static_cast<double>(filters));
  x = projected(x, outputs, prefix + "project", prefix + "project_BN");
  if (channels != outputs || block.stride != 1) return x;
  return layers::Add({.name = prefix + "add"})({inputs, x});
}

Tensor features(const Tensor& inputs, double alpha) {
  Tensor x = layers::Conv2D({.filters = make_divisible(32 * alpha),
                             .kernel_size = 3,
                             .strides = 2,
                             .padding = "same",
                             .use_bias = false,
                             .name = "Conv1"})(inputs);
  x = relu6(batch_normalized(x, "bn_Conv1"), "Conv1_relu");
  for (size_t i = 0; i < kBlocks.size(); ++i) x = inverted_residual(x, kBlocks[i], alpha, i);
  x = layers::Conv2D({.filters = alpha > 1 ? make_divisible(1280 * alpha) : 1280,
                      .kernel_size = 1,
                      .use_bias = false,
                      .name = "Conv_1"})(x);
  return relu6(batch_normalized(x, "Conv_1_bn"), "out_relu");
}

}  // namespace

Model MobileNetV2(const MobileNetV2Options& options) {
  check_alpha(options);
  const Architecture architecture = {
      .who = kWho,
      .default_size = default_size_of(options),
      .top_pooling = {},
      .avg_pooling = {},
      .max_pooling = {},
      .features = [&](const Tensor& x) { return features(x, options.alpha); },
      .name =
          [&](const Shape& shape) {
            const std::string rows = shape[0] == kUnknown ? "None" : fmt::format("{}", shape[0]);
            return fmt::format("mobilenetv2_{:.2f}_{}", options.alpha, rows);
          },
      .file = [&](const Shape& shape) { return weights_file(options, shape); }};
  return build(architecture, application_options(options));
}

Tensor mobilenet_v2::preprocess_input(const Tensor& x) {
  return imagenet_utils::preprocess_input(x, imagenet_utils::PreprocessMode::Tf);
}

}  // namespace cornu::applications
