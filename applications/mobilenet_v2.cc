// SPDX-License-Identifier: Apache-2.0
#include "applications/mobilenet_v2.h"

#include <algorithm>
#include <array>
#include <utility>

#include "applications/imagenet.h"
#include "framework/ops/ops.h"
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

void check_options(const MobileNetV2Options& options) {
  check_weights(kWho, options.weights);
  check<InvalidArgument>(options.alpha > 0, "{}: expected alpha > 0, got {}.", kWho, options.alpha);
  check<InvalidArgument>(options.classes > 0, "{}: expected classes > 0, got {}.", kWho,
                         options.classes);
  check<InvalidArgument>(
      options.pooling.empty() || options.pooling == "avg" || options.pooling == "max",
      "{}: expected pooling 'avg', 'max' or none, got '{}'.", kWho, options.pooling);
  check<InvalidArgument>(
      !options.weights.imagenet() || !options.include_top || options.classes == 1000,
      "{}: expected 1000 classes with include_top and the weights of ImageNet, got {}.", kWho,
      options.classes);
  if (!options.input_tensor.defined()) return;
  const Tensor& x = options.input_tensor;
  check<InvalidArgument>(is_placeholder(x),
                         "{}: expected input_tensor to be a placeholder, of Input or of layers "
                         "called on one, got a tensor of shape {}.",
                         kWho, x.shape());
  check<InvalidArgument>(x.rank() == 4,
                         "{}: expected input_tensor (batch, height, width, channels), got {}.",
                         kWho, x.shape());
  check<InvalidArgument>(!options.input_shape || options.input_shape->rank() != 3 ||
                             x.shape()[2] == (*options.input_shape)[1],
                         "{}: expected input_tensor {} to be as wide as input_shape {}.", kWho,
                         x.shape(), options.input_shape.value_or(Shape()));
}

Shape input_shape_of(const MobileNetV2Options& options) {
  InputShapeOptions rules = {.include_top = options.include_top,
                             .imagenet = options.weights.imagenet()};
  if (options.input_shape && options.input_shape->rank() == 3) {
    rules.default_size = trained_size((*options.input_shape)[0], (*options.input_shape)[1]);
  } else if (options.input_tensor.defined()) {
    const Shape& shape = options.input_tensor.shape();
    rules.default_size = trained_size(shape[1], shape[2]);
  }
  return obtain_input_shape(kWho, options.input_shape, rules);
}

[[noreturn]] void raise_not_downloaded(const MobileNetV2Options& options, const Shape& shape) {
  const bool trained = std::find(kTrainedAlphas.begin(), kTrainedAlphas.end(), options.alpha) !=
                       kTrainedAlphas.end();
  check<InvalidArgument>(
      trained,
      "{}: expected alpha to be one of {}, as there are weights of ImageNet for, "
      "got {}.",
      kWho, fmt::join(kTrainedAlphas, ", "), options.alpha);
  // As Python writes numbers: 1.0, 0.35.
  std::string alpha = fmt::format("{}", options.alpha);
  if (alpha.find('.') == std::string::npos) alpha += ".0";
  raise<NotFound>(
      "{}: the weights of ImageNet aren't downloaded by themselves. Give the path of their file as "
      ".weights (Keras has it at https://storage.googleapis.com/tensorflow/keras-applications/"
      "mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{}_{}{}.h5), or .weights = "
      "nullptr for random ones.",
      kWho, alpha, trained_size(shape[0], shape[1]), options.include_top ? "" : "_no_top");
}

Tensor normalized(const Tensor& x, const std::string& name) {
  return layers::BatchNormalization({.momentum = 0.999, .epsilon = 1e-3, .name = name})(x);
}

Tensor rectified(const Tensor& x, const std::string& name) {
  return layers::ReLU({.max_value = 6.0, .name = name})(x);
}

// A convolution of single pixels, and its normalization.
Tensor projected(const Tensor& x, int64_t filters, const std::string& name,
                 const std::string& normalization) {
  const Tensor y = layers::Conv2D(
      {.filters = filters, .kernel_size = 1, .padding = "same", .use_bias = false, .name = name})(
      x);
  return normalized(y, normalization);
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
    x = rectified(x, prefix + "expand_relu");
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
  x = rectified(normalized(x, prefix + "depthwise_BN"), prefix + "depthwise_relu");
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
  x = rectified(normalized(x, "bn_Conv1"), "Conv1_relu");
  for (size_t i = 0; i < kBlocks.size(); ++i) x = inverted_residual(x, kBlocks[i], alpha, i);
  x = layers::Conv2D({.filters = alpha > 1 ? make_divisible(1280 * alpha) : 1280,
                      .kernel_size = 1,
                      .use_bias = false,
                      .name = "Conv_1"})(x);
  return rectified(normalized(x, "Conv_1_bn"), "out_relu");
}

}  // namespace

Model MobileNetV2(const MobileNetV2Options& options) {
  check_options(options);
  const Shape shape = input_shape_of(options);
  if (options.include_top) {
    check_classifier(kWho, options.classifier_activation, options.weights);
  }
  if (options.weights.imagenet()) raise_not_downloaded(options, shape);
  const bool given = options.input_tensor.defined();
  const Tensor inputs = given ? options.input_tensor : Input({.shape = shape});
  Tensor x = features(inputs, options.alpha);
  if (options.include_top) {
    x = layers::GlobalAveragePooling2D()(x);
    x = layers::Dense({.units = options.classes,
                       .activation = options.classifier_activation,
                       .name = "predictions"})(x);
  } else if (options.pooling == "avg") {
    x = layers::GlobalAveragePooling2D()(x);
  } else if (options.pooling == "max") {
    x = layers::GlobalMaxPooling2D()(x);
  }
  const std::string rows = shape[0] == kUnknown ? "None" : fmt::format("{}", shape[0]);
  Model model(
      given ? source_inputs(inputs) : Tensors(inputs), x,
      {.name = options.name.empty() ? fmt::format("mobilenetv2_{:.2f}_{}", options.alpha, rows)
                                    : options.name});
  if (options.weights.given()) model.load_weights(options.weights.path());
  return model;
}

Tensor mobilenet_v2::preprocess_input(const Tensor& x) {
  return (is_floating(x.dtype()) ? x : ops::cast(x, DType::Float32)) / 127.5 - 1.0;
}

}  // namespace cornu::applications
