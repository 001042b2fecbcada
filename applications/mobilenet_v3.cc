// SPDX-License-Identifier: Apache-2.0
#include "applications/mobilenet_v3.h"

#include <vector>

#include "applications/architecture.h"
#include "applications/imagenet.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

struct SearchedBlock {
  double expansion;
  int64_t filters;
  bool wide;  // 5 x 5 kernel unless minimalistic
  int64_t stride;
  bool excites;
  bool swishes;
};

const std::vector<SearchedBlock>& small_blocks() {
  static const std::vector<SearchedBlock> blocks = {{1, 16, false, 2, true, false},
                                                    {72.0 / 16, 24, false, 2, false, false},
                                                    {88.0 / 24, 24, false, 1, false, false},
                                                    {4, 40, true, 2, true, true},
                                                    {6, 40, true, 1, true, true},
                                                    {6, 40, true, 1, true, true},
                                                    {3, 48, true, 1, true, true},
                                                    {3, 48, true, 1, true, true},
                                                    {6, 96, true, 2, true, true},
                                                    {6, 96, true, 1, true, true},
                                                    {6, 96, true, 1, true, true}};
  return blocks;
}

const std::vector<SearchedBlock>& large_blocks() {
  static const std::vector<SearchedBlock> blocks = {
      {1, 16, false, 1, false, false},  {4, 24, false, 2, false, false},
      {3, 24, false, 1, false, false},  {3, 40, true, 2, true, false},
      {3, 40, true, 1, true, false},    {3, 40, true, 1, true, false},
      {6, 80, false, 2, false, true},   {2.5, 80, false, 1, false, true},
      {2.3, 80, false, 1, false, true}, {2.3, 80, false, 1, false, true},
      {6, 112, false, 1, true, true},   {6, 112, false, 1, true, true},
      {6, 160, true, 2, true, true},    {6, 160, true, 1, true, true},
      {6, 160, true, 1, true, true}};
  return blocks;
}

// Builds the parts of the model, which all depend on the options.
class MobileNetV3Builder {
 public:
  MobileNetV3Builder(const MobileNetV3Options& options, const std::vector<SearchedBlock>& blocks,
                     int64_t last_filters)
      : options_(options), blocks_(blocks), last_filters_(last_filters) {}

  Tensor features(const Tensor& inputs) const {
    Tensor x = inputs;
    if (options_.include_preprocessing) {
      x = layers::Rescaling({.scale = 1.0 / 127.5, .offset = -1.0})(x);
    }
    x = layers::Conv2D({.filters = 16,
                        .kernel_size = 3,
                        .strides = 2,
                        .padding = "same",
                        .use_bias = false,
                        .name = "conv"})(x);
    x = activated_by(normalized_as(x, "conv_bn"), true);
    for (size_t i = 0; i < blocks_.size(); ++i) x = block(x, blocks_[i], i);
    x = convolved(x, make_divisible(static_cast<double>(x.shape().back() * 6)), "conv_1", false);
    return activated_by(normalized_as(x, "conv_1_bn"), true);
  }

  Tensor top(const Tensor& features) const {
    Tensor x = layers::GlobalAveragePooling2D({.keepdims = true})(features);
    const int64_t filters =
        options_.alpha > 1 ? make_divisible(static_cast<double>(last_filters_) * options_.alpha)
                           : last_filters_;
    x = activated_by(convolved(x, filters, "conv_2", true), true);
    if (options_.dropout_rate > 0) x = layers::Dropout({.rate = options_.dropout_rate})(x);
    x = layers::Flatten()(convolved(x, options_.classes, "logits", true));
    return layers::Activation(
        {.activation = options_.classifier_activation, .name = "predictions"})(x);
  }

 private:
  static Tensor convolved(const Tensor& x, int64_t filters, const std::string& name,
                          bool use_bias) {
    return layers::Conv2D({.filters = filters,
                           .kernel_size = 1,
                           .padding = "same",
                           .use_bias = use_bias,
                           .name = name})(x);
  }
  static Tensor normalized_as(const Tensor& x, const std::string& name) {
    return layers::BatchNormalization({.momentum = 0.999, .epsilon = 1e-3, .name = name})(x);
  }
  Tensor activated_by(const Tensor& x, bool swishes) const {
    if (!swishes || options_.minimalistic) return layers::ReLU()(x);
    return layers::Activation({.activation = "hard_swish"})(x);
  }

  static Tensor excited_by_relu(const Tensor& inputs, const std::string& prefix) {
    const std::string name = prefix + "squeeze_excite_";
    const int64_t filters = inputs.shape().back();
    Tensor x =
        layers::GlobalAveragePooling2D({.keepdims = true, .name = name + "avg_pool"})(inputs);
    x = convolved(x, make_divisible(static_cast<double>(filters) * 0.25), name + "conv", true);
    x = layers::ReLU({.name = name + "relu"})(x);
    x = convolved(x, filters, name + "conv_1", true);
    x = Tensor(layers::ReLU({.max_value = 6.0})(x + 3.0)) * (1.0 / 6.0);
    return layers::Multiply({.name = name + "mul"})({inputs, x});
  }

  Tensor block(const Tensor& inputs, const SearchedBlock& block, size_t number) const {
    const std::string prefix =
        number == 0 ? "expanded_conv_" : fmt::format("expanded_conv_{}_", number);
    const int64_t channels = inputs.shape().back();
    Tensor x = inputs;
    if (number > 0) {
      x = convolved(x, make_divisible(static_cast<double>(channels) * block.expansion),
                    prefix + "expand", false);
      x = activated_by(normalized_as(x, prefix + "expand_bn"), block.swishes);
    }
    const int64_t kernel = block.wide && !options_.minimalistic ? 5 : 3;
    if (block.stride == 2) {
      const auto [rows, columns] = correct_pad(x, kernel);
      x = layers::ZeroPadding2D(
          {.padding = {{rows.first, rows.second}, {columns.first, columns.second}},
           .name = prefix + "depthwise_pad"})(x);
    }
    x = layers::DepthwiseConv2D({.kernel_size = kernel,
                                 .strides = block.stride,
                                 .padding = block.stride == 1 ? "same" : "valid",
                                 .use_bias = false,
                                 .name = prefix + "depthwise"})(x);
    x = activated_by(normalized_as(x, prefix + "depthwise_bn"), block.swishes);
    if (block.excites && !options_.minimalistic) x = excited_by_relu(x, prefix);
    const int64_t filters = make_divisible(static_cast<double>(block.filters) * options_.alpha);
    x = normalized_as(convolved(x, filters, prefix + "project", false), prefix + "project_bn");
    if (block.stride != 1 || channels != filters) return x;
    return layers::Add({.name = prefix + "add"})({inputs, x});
  }

  const MobileNetV3Options& options_;
  const std::vector<SearchedBlock>& blocks_;
  int64_t last_filters_;
};

std::string mobilenet_v3_file(const std::string& who, const std::string& type,
                              const MobileNetV3Options& options) {
  const bool trained = options.alpha == 1 || (options.alpha == 0.75 && !options.minimalistic);
  check<InvalidArgument>(trained,
                         "{}: expected an alpha of 1, or 0.75 where it isn't minimalistic, as "
                         "there are weights of ImageNet for, got {}.",
                         who, options.alpha);
  return fmt::format(
      "tensorflow/keras-applications/mobilenet_v3/weights_mobilenet_v3_{}{}_224_{}_float{}.h5",
      type, options.minimalistic ? "_minimalistic" : "", options.alpha == 1 ? "1.0" : "0.75",
      options.include_top ? "" : "_no_top_v2");
}

Model mobilenet_v3_model(const std::string& who, const std::string& type,
                         const MobileNetV3Options& options,
                         const std::vector<SearchedBlock>& blocks, int64_t last_filters) {
  check<InvalidArgument>(options.alpha > 0, "{}: expected alpha > 0, got {}.", who, options.alpha);
  const MobileNetV3Builder builder(options, blocks, last_filters);
  const Architecture architecture = {
      .who = who,
      .features = [&](const Tensor& x) { return builder.features(x); },
      .top = [&](const Tensor& x, const ApplicationOptions&) { return builder.top(x); },
      .any_size = true,
      .name = [&](const Shape&) { return who; },
      .file = [&](const Shape&) { return mobilenet_v3_file(who, type, options); }};
  return build(architecture, application_options(options));
}

}  // namespace

Model MobileNetV3Small(const MobileNetV3Options& options) {
  return mobilenet_v3_model("MobileNetV3Small", "small", options, small_blocks(), 1024);
}

Model MobileNetV3Large(const MobileNetV3Options& options) {
  return mobilenet_v3_model("MobileNetV3Large", "large", options, large_blocks(), 1280);
}

}  // namespace cornu::applications
