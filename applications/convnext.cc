// SPDX-License-Identifier: Apache-2.0
#include "applications/convnext.h"

#include <array>

#include "applications/architecture.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

struct ConvNeXtKind {
  const char* who;
  const char* name;
  std::array<int64_t, 4> depths;
  std::array<int64_t, 4> filters;
};

layers::LayerNormalization normalization_of_channels(const std::string& name = {}) {
  return layers::LayerNormalization({.epsilon = 1e-6, .name = name});
}

// Normalizes pixels by ImageNet's mean and variance.
Tensor normalized_pixels(const Tensor& x, const std::string& prefix) {
  const auto of_pixels = [](double a, double b, double c) {
    return Tensor::from<double>({a, b, c});
  };
  return layers::Normalization(
      {.mean = of_pixels(0.485 * 255, 0.456 * 255, 0.406 * 255),
       .variance = of_pixels(0.229 * 255 * (0.229 * 255), 0.224 * 255 * (0.224 * 255),
                             0.225 * 255 * (0.225 * 255)),
       .name = prefix + "_prestem_normalization"})(x);
}

Tensor smaller(const Tensor& x, const ConvNeXtKind& kind, size_t stage, const std::string& prefix) {
  const int64_t filters = kind.filters[stage];
  if (stage == 0) {
    return LayerHandle(
        Sequential(std::vector<LayerHandle>{layers::Conv2D({.filters = filters,
                                                            .kernel_size = 4,
                                                            .strides = 4,
                                                            .name = prefix + "_stem_conv"}),
                                            normalization_of_channels(prefix + "_stem_layernorm")},
                   {.name = prefix + "_stem"}))(x);
  }
  const size_t number = stage - 1;
  return LayerHandle(Sequential(
      std::vector<LayerHandle>{
          normalization_of_channels(fmt::format("{}_downsampling_layernorm_{}", prefix, number)),
          layers::Conv2D({.filters = filters,
                          .kernel_size = 2,
                          .strides = 2,
                          .name = fmt::format("{}_downsampling_conv_{}", prefix, number)})},
      {.name = fmt::format("{}_downsampling_block_{}", prefix, number)}))(x);
}

Tensor convnext_block(const Tensor& inputs, int64_t filters, const std::string& prefix) {
  Tensor x = layers::Conv2D({.filters = filters,
                             .kernel_size = 7,
                             .padding = "same",
                             .groups = filters,
                             .name = prefix + "_depthwise_conv"})(inputs);
  x = normalization_of_channels(prefix + "_layernorm")(x);
  x = layers::Dense({.units = 4 * filters, .name = prefix + "_pointwise_conv_1"})(x);
  x = layers::Activation({.activation = "gelu", .name = prefix + "_gelu"})(x);
  x = layers::Dense({.units = filters, .name = prefix + "_pointwise_conv_2"})(x);
  x = layers::LayerScale({.projection_dim = filters, .name = prefix + "_layer_scale"})(x);
  const layers::Activation identity({.activation = "linear", .name = prefix + "_identity"});
  return inputs + identity(x).single();
}

Model convnext_model(const ConvNeXtKind& kind, const ConvNeXtOptions& options) {
  const std::string prefix = options.name.empty() ? kind.name : options.name;
  Architecture architecture = {.who = kind.who,
                               .avg_pooling = {},
                               .max_pooling = {},
                               .features = {},
                               .name = [&](const Shape&) { return prefix; },
                               .file = {}};
  architecture.features = [&](const Tensor& inputs) {
    const bool scales = options.include_preprocessing && inputs.shape().back() == 3;
    Tensor x = scales ? normalized_pixels(inputs, prefix) : inputs;
    for (size_t stage = 0; stage < kind.depths.size(); ++stage) {
      x = smaller(x, kind, stage, prefix);
      for (int64_t block = 0; block < kind.depths[stage]; ++block) {
        x = convnext_block(x, kind.filters[stage],
                           fmt::format("{}_stage_{}_block_{}", prefix, stage, block));
      }
    }
    return x;
  };
  architecture.top = [&](const Tensor& features, const ApplicationOptions& given) {
    Tensor x = layers::GlobalAveragePooling2D({.name = prefix + "_head_gap"})(features);
    x = normalization_of_channels(prefix + "_head_layernorm")(x);
    return Tensor(layers::Dense({.units = given.classes,
                                 .activation = given.classifier_activation,
                                 .name = prefix + "_head_dense"})(x));
  };
  architecture.without_top = [](const Tensor& x) { return Tensor(normalization_of_channels()(x)); };
  architecture.file = [&](const Shape&) {
    return fmt::format("tensorflow/keras-applications/convnext/{}{}.h5", kind.name,
                       options.include_top ? "" : "_notop");
  };
  return build(architecture, application_options(options));
}

}  // namespace

Model ConvNeXtTiny(const ConvNeXtOptions& options) {
  return convnext_model({"ConvNeXtTiny", "convnext_tiny", {3, 3, 9, 3}, {96, 192, 384, 768}},
                        options);
}

Model ConvNeXtSmall(const ConvNeXtOptions& options) {
  return convnext_model({"ConvNeXtSmall", "convnext_small", {3, 3, 27, 3}, {96, 192, 384, 768}},
                        options);
}

Model ConvNeXtBase(const ConvNeXtOptions& options) {
  return convnext_model({"ConvNeXtBase", "convnext_base", {3, 3, 27, 3}, {128, 256, 512, 1024}},
                        options);
}

Model ConvNeXtLarge(const ConvNeXtOptions& options) {
  return convnext_model({"ConvNeXtLarge", "convnext_large", {3, 3, 27, 3}, {192, 384, 768, 1536}},
                        options);
}

Model ConvNeXtXLarge(const ConvNeXtOptions& options) {
  return convnext_model(
      {"ConvNeXtXLarge", "convnext_xlarge", {3, 3, 27, 3}, {256, 512, 1024, 2048}}, options);
}

}  // namespace cornu::applications
