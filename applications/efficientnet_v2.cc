// SPDX-License-Identifier: Apache-2.0
#include "applications/efficientnet_v2.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "applications/architecture.h"
#include "applications/efficientnet_blocks.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

constexpr double kMomentum = 0.9;

// Identical consecutive blocks with 3 x 3 kernels.
struct FusedStage {
  int64_t repeats;
  int64_t inputs;
  int64_t outputs;
  int64_t expansion;
  int64_t stride;
  bool fused;  // a single convolution replaces expansion and depthwise convolution; no excitation
};

struct EfficientNetV2Kind {
  const char* who;
  const char* name;
  double width;
  double depth;
  int64_t size;
  const std::vector<FusedStage>& stages;
};

const std::vector<FusedStage>& stages_of_b() {
  static const std::vector<FusedStage> stages = {
      {1, 32, 16, 1, 1, true},  {2, 16, 32, 4, 2, true},   {2, 32, 48, 4, 2, true},
      {3, 48, 96, 4, 2, false}, {5, 96, 112, 6, 1, false}, {8, 112, 192, 6, 2, false}};
  return stages;
}

const std::vector<FusedStage>& stages_of_s() {
  static const std::vector<FusedStage> stages = {
      {2, 24, 24, 1, 1, true},   {4, 24, 48, 4, 2, true},    {4, 48, 64, 4, 2, true},
      {6, 64, 128, 4, 2, false}, {9, 128, 160, 6, 1, false}, {15, 160, 256, 6, 2, false}};
  return stages;
}

const std::vector<FusedStage>& stages_of_m() {
  static const std::vector<FusedStage> stages = {
      {3, 24, 24, 1, 1, true},   {5, 24, 48, 4, 2, true},     {5, 48, 80, 4, 2, true},
      {7, 80, 160, 4, 2, false}, {14, 160, 176, 6, 1, false}, {18, 176, 304, 6, 2, false},
      {5, 304, 512, 6, 1, false}};
  return stages;
}

const std::vector<FusedStage>& stages_of_l() {
  static const std::vector<FusedStage> stages = {
      {4, 32, 32, 1, 1, true},    {7, 32, 64, 4, 2, true},     {7, 64, 96, 4, 2, true},
      {10, 96, 192, 4, 2, false}, {19, 192, 224, 6, 1, false}, {25, 224, 384, 6, 2, false},
      {7, 384, 640, 6, 1, false}};
  return stages;
}

// Rounds like efficientnet_v2.py, which differs slightly from make_divisible.
int64_t rounded_filters(int64_t filters, double width) {
  constexpr int64_t kDivisor = 8;
  const double wanted = static_cast<double>(filters) * width;
  return std::max(kDivisor, static_cast<int64_t>(wanted + kDivisor / 2.0) / kDivisor * kDivisor);
}

Tensor convolved_by_3(const Tensor& x, int64_t filters, int64_t stride, const std::string& name) {
  return layers::Conv2D({.filters = filters,
                         .kernel_size = 3,
                         .strides = stride,
                         .padding = "same",
                         .use_bias = false,
                         .kernel_initializer = of_convolutions(),
                         .name = name})(x);
}

Tensor projected_features(Tensor x, const FusedStage& block, const std::string& prefix) {
  const int64_t filters = block.inputs * block.expansion;
  if (block.fused) {
    if (block.expansion == 1) {
      x = convolved_by_3(x, block.outputs, block.stride, prefix + "project_conv");
      return activated(x, prefix + "project_bn", prefix + "project_activation", kMomentum);
    }
    x = convolved_by_3(x, filters, block.stride, prefix + "expand_conv");
    x = activated(x, prefix + "expand_bn", prefix + "expand_activation", kMomentum);
  } else {
    if (block.expansion != 1) {
      x = pointwise(x, filters, prefix + "expand_conv");
      x = activated(x, prefix + "expand_bn", prefix + "expand_activation", kMomentum);
    }
    x = layers::DepthwiseConv2D({.kernel_size = 3,
                                 .strides = block.stride,
                                 .padding = "same",
                                 .use_bias = false,
                                 .depthwise_initializer = of_convolutions(),
                                 .name = prefix + "dwconv2"})(x);
    x = activated(x, prefix + "bn", prefix + "activation", kMomentum);
    x = excited(x, std::max<int64_t>(1, block.inputs / 4), prefix);
  }
  x = pointwise(x, block.outputs, prefix + "project_conv");
  return layers::BatchNormalization({.momentum = kMomentum, .name = prefix + "project_bn"})(x);
}

Tensor all_stages(Tensor x, const EfficientNetV2Kind& kind) {
  constexpr double kDropConnect = 0.2;
  int64_t total = 0;
  for (const FusedStage& stage : kind.stages) total += stage.repeats;
  int64_t number = 0;
  for (size_t i = 0; i < kind.stages.size(); ++i) {
    FusedStage block = kind.stages[i];
    block.inputs = rounded_filters(block.inputs, kind.width);
    block.outputs = rounded_filters(block.outputs, kind.width);
    const auto repeats =
        static_cast<int64_t>(std::ceil(kind.depth * static_cast<double>(block.repeats)));
    for (int64_t j = 0; j < repeats; ++j, ++number) {
      const std::string prefix = fmt::format("block{}{}_", i + 1, static_cast<char>('a' + j));
      const double rate = kDropConnect * static_cast<double>(number) / static_cast<double>(total);
      const Tensor y = projected_features(x, block, prefix);
      const bool shortcut = block.stride == 1 && block.inputs == block.outputs;
      x = shortcut ? with_shortcut(y, x, rate, prefix) : y;
      block.stride = 1;
      block.inputs = block.outputs;
    }
  }
  return x;
}

// Scales pixels as in training: for B0 to B3 with red, green and blue channels, as in EfficientNet.
Tensor scaled_pixels(const Tensor& x, const EfficientNetV2Kind& kind) {
  if (&kind.stages != &stages_of_b() || x.shape().back() != 3) {
    return layers::Rescaling({.scale = 1.0 / 128.0, .offset = -1.0})(x);
  }
  const Tensor scaled = layers::Rescaling({.scale = 1.0 / 255.0})(x);
  return layers::Normalization(
      {.axis = 3,
       .mean = Tensor::from<double>({0.485, 0.456, 0.406}),
       .variance = Tensor::from<double>({0.229 * 0.229, 0.224 * 0.224, 0.225 * 0.225})})(scaled);
}

Model efficientnet_v2_model(const EfficientNetV2Kind& kind, const EfficientNetV2Options& options) {
  Architecture architecture = {.who = kind.who,
                               .default_size = kind.size,
                               .features = {},
                               .name = [&](const Shape&) { return kind.name; },
                               .file = {}};
  architecture.features = [&](const Tensor& inputs) {
    Tensor x = options.include_preprocessing ? scaled_pixels(inputs, kind) : inputs;
    x = convolved_by_3(x, rounded_filters(kind.stages[0].inputs, kind.width), 2, "stem_conv");
    x = all_stages(activated(x, "stem_bn", "stem_activation", kMomentum), kind);
    x = pointwise(x, rounded_filters(1280, kind.width), "top_conv");
    return activated(x, "top_bn", "top_activation", kMomentum);
  };
  set_efficientnet_top(architecture, 0.2);
  architecture.file = [&](const Shape&) {
    return fmt::format("tensorflow/keras-applications/efficientnet_v2/{}{}.h5", kind.name,
                       options.include_top ? "" : "_notop");
  };
  return build(architecture, application_options(options));
}

}  // namespace

Model EfficientNetV2B0(const EfficientNetV2Options& options) {
  return efficientnet_v2_model(
      {"EfficientNetV2B0", "efficientnetv2-b0", 1.0, 1.0, 224, stages_of_b()}, options);
}

Model EfficientNetV2B1(const EfficientNetV2Options& options) {
  return efficientnet_v2_model(
      {"EfficientNetV2B1", "efficientnetv2-b1", 1.0, 1.1, 240, stages_of_b()}, options);
}

Model EfficientNetV2B2(const EfficientNetV2Options& options) {
  return efficientnet_v2_model(
      {"EfficientNetV2B2", "efficientnetv2-b2", 1.1, 1.2, 260, stages_of_b()}, options);
}

Model EfficientNetV2B3(const EfficientNetV2Options& options) {
  return efficientnet_v2_model(
      {"EfficientNetV2B3", "efficientnetv2-b3", 1.2, 1.4, 300, stages_of_b()}, options);
}

Model EfficientNetV2S(const EfficientNetV2Options& options) {
  return efficientnet_v2_model(
      {"EfficientNetV2S", "efficientnetv2-s", 1.0, 1.0, 384, stages_of_s()}, options);
}

Model EfficientNetV2M(const EfficientNetV2Options& options) {
  return efficientnet_v2_model(
      {"EfficientNetV2M", "efficientnetv2-m", 1.0, 1.0, 480, stages_of_m()}, options);
}

Model EfficientNetV2L(const EfficientNetV2Options& options) {
  return efficientnet_v2_model(
      {"EfficientNetV2L", "efficientnetv2-l", 1.0, 1.0, 480, stages_of_l()}, options);
}

}  // namespace cornu::applications
