// SPDX-License-Identifier: Apache-2.0
#include "applications/efficientnet.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "applications/architecture.h"
#include "applications/efficientnet_blocks.h"
#include "applications/imagenet.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

struct Scaling {
  double width;
  double depth;
  int64_t size;
  double dropout;
};

constexpr std::array<Scaling, 8> kScalings = {{{1.0, 1.0, 224, 0.2},
                                               {1.0, 1.1, 240, 0.2},
                                               {1.1, 1.2, 260, 0.3},
                                               {1.2, 1.4, 300, 0.3},
                                               {1.4, 1.8, 380, 0.4},
                                               {1.6, 2.2, 456, 0.4},
                                               {1.8, 2.6, 528, 0.5},
                                               {2.0, 3.1, 600, 0.5}}};

struct MobileBlock {
  int64_t kernel;
  int64_t repeats;
  int64_t inputs;
  int64_t outputs;
  int64_t expansion;
  int64_t stride;
};

constexpr std::array<MobileBlock, 7> kMobileBlocks = {{{3, 1, 32, 16, 1, 1},
                                                       {3, 2, 16, 24, 6, 2},
                                                       {5, 2, 24, 40, 6, 2},
                                                       {3, 3, 40, 80, 6, 2},
                                                       {5, 3, 80, 112, 6, 1},
                                                       {5, 4, 112, 192, 6, 2},
                                                       {3, 1, 192, 320, 6, 1}}};

Tensor padded_for(const Tensor& x, int64_t kernel, const std::string& name) {
  const auto [rows, columns] = correct_pad(x, kernel);
  return layers::ZeroPadding2D(
      {.padding = {{rows.first, rows.second}, {columns.first, columns.second}}, .name = name})(x);
}

Tensor mobile_block(const Tensor& inputs, const MobileBlock& block, double drop_rate,
                    const std::string& prefix) {
  Tensor x = inputs;
  if (block.expansion != 1) {
    x = pointwise(x, block.inputs * block.expansion, prefix + "expand_conv");
    x = activated(x, prefix + "expand_bn", prefix + "expand_activation");
  }
  if (block.stride == 2) x = padded_for(x, block.kernel, prefix + "dwconv_pad");
  x = layers::DepthwiseConv2D({.kernel_size = block.kernel,
                               .strides = block.stride,
                               .padding = block.stride == 2 ? "valid" : "same",
                               .use_bias = false,
                               .depthwise_initializer = of_convolutions(),
                               .name = prefix + "dwconv"})(x);
  x = activated(x, prefix + "bn", prefix + "activation");
  x = excited(x, std::max<int64_t>(1, block.inputs / 4), prefix);
  x = pointwise(x, block.outputs, prefix + "project_conv");
  x = layers::BatchNormalization({.name = prefix + "project_bn"})(x);
  if (block.stride != 1 || block.inputs != block.outputs) return x;
  return with_shortcut(x, inputs, drop_rate, prefix);
}

Tensor mobile_blocks(Tensor x, const Scaling& scaling) {
  constexpr double kDropConnect = 0.2;
  const auto repeats = [&](const MobileBlock& block) {
    return static_cast<int64_t>(std::ceil(scaling.depth * static_cast<double>(block.repeats)));
  };
  const auto filters = [&](int64_t count) {
    return make_divisible(static_cast<double>(count) * scaling.width);
  };
  int64_t total = 0;
  for (const MobileBlock& block : kMobileBlocks) total += repeats(block);
  int64_t number = 0;
  for (size_t i = 0; i < kMobileBlocks.size(); ++i) {
    MobileBlock block = kMobileBlocks[i];
    block.inputs = filters(block.inputs);
    block.outputs = filters(block.outputs);
    for (int64_t j = 0; j < repeats(kMobileBlocks[i]); ++j, ++number) {
      const double rate = kDropConnect * static_cast<double>(number) / static_cast<double>(total);
      x = mobile_block(x, block, rate,
                       fmt::format("block{}{}_", i + 1, static_cast<char>('a' + j)));
      block.stride = 1;
      block.inputs = block.outputs;
    }
  }
  return x;
}

Tensor efficientnet_features(const Tensor& inputs, const Scaling& scaling, bool imagenet) {
  Tensor x = layers::Rescaling({.scale = 1.0 / 255.0})(inputs);
  x = layers::Normalization({.axis = 3})(x);
  // The weights were trained on pixels divided by the variance; Normalization divides by its square
  // root, so this divides by it once more.
  if (imagenet) {
    x = layers::Rescaling(
        {.scale = {1 / std::sqrt(0.229), 1 / std::sqrt(0.224), 1 / std::sqrt(0.225)}})(x);
  }
  x = padded_for(x, 3, "stem_conv_pad");
  x = layers::Conv2D({.filters = make_divisible(32 * scaling.width),
                      .kernel_size = 3,
                      .strides = 2,
                      .use_bias = false,
                      .kernel_initializer = of_convolutions(),
                      .name = "stem_conv"})(x);
  x = mobile_blocks(activated(x, "stem_bn", "stem_activation"), scaling);
  x = pointwise(x, make_divisible(1280 * scaling.width), "top_conv");
  return activated(x, "top_bn", "top_activation");
}

Model efficientnet_model(size_t number, const ApplicationOptions& options) {
  const Scaling& scaling = kScalings[number];
  Architecture architecture =
      named_architecture(fmt::format("EfficientNetB{}", number), {}, options.include_top);
  architecture.default_size = scaling.size;
  architecture.features = [&](const Tensor& x) {
    return efficientnet_features(x, scaling, options.weights.imagenet());
  };
  set_efficientnet_top(architecture, scaling.dropout);
  architecture.file = [number, top = options.include_top](const Shape&) {
    return fmt::format("keras-applications/efficientnetb{}{}.h5", number, top ? "" : "_notop");
  };
  return build(architecture, options);
}

}  // namespace

Model EfficientNetB0(const ApplicationOptions& options) { return efficientnet_model(0, options); }

Model EfficientNetB1(const ApplicationOptions& options) { return efficientnet_model(1, options); }

Model EfficientNetB2(const ApplicationOptions& options) { return efficientnet_model(2, options); }

Model EfficientNetB3(const ApplicationOptions& options) { return efficientnet_model(3, options); }

Model EfficientNetB4(const ApplicationOptions& options) { return efficientnet_model(4, options); }

Model EfficientNetB5(const ApplicationOptions& options) { return efficientnet_model(5, options); }

Model EfficientNetB6(const ApplicationOptions& options) { return efficientnet_model(6, options); }

Model EfficientNetB7(const ApplicationOptions& options) { return efficientnet_model(7, options); }

}  // namespace cornu::applications
