// SPDX-License-Identifier: Apache-2.0
#include "applications/inception_resnet_v2.h"

#include <vector>

#include "applications/architecture.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

struct Unit {
  int64_t filters;
  layers::Size2 kernel = 1;
  int64_t strides = 1;
  std::string padding = "same";
};

// A convolution with normalization and relu; its parts are named after it, if it has a name.
Tensor inception_unit(const Tensor& x, const Unit& unit, const std::string& name = {}) {
  const auto named = [&](const char* part) { return name.empty() ? name : name + part; };
  Tensor y = layers::Conv2D({.filters = unit.filters,
                             .kernel_size = unit.kernel,
                             .strides = unit.strides,
                             .padding = unit.padding,
                             .use_bias = false,
                             .name = name})(x);
  y = layers::BatchNormalization({.scale = false, .name = named("_bn")})(y);
  return layers::Activation({.activation = "relu", .name = named("_ac")})(y);
}

Tensor branch(Tensor x, const std::vector<Unit>& units) {
  for (const Unit& unit : units) x = inception_unit(x, unit);
  return x;
}

Tensor beside(const std::vector<Tensor>& branches, const std::string& name) {
  return layers::Concatenate({.axis = 3, .name = name})(Tensors(branches));
}

struct ResidualKind {
  const char* name;
  std::vector<std::vector<Unit>> branches;
};

Tensor inception_resnet_block(const Tensor& x, const ResidualKind& kind, double scale,
                              int64_t number, bool rectified = true) {
  const std::string name = fmt::format("{}_{}", kind.name, number);
  std::vector<Tensor> branches;
  for (const std::vector<Unit>& units : kind.branches) branches.push_back(branch(x, units));
  const Tensor up = layers::Conv2D(
      {.filters = x.shape().back(), .kernel_size = 1, .padding = "same", .name = name + "_conv"})(
      beside(branches, name + "_mixed"));
  const Tensor y = layers::CustomScaleLayer({.scale = scale})({x, up});
  if (!rectified) return y;
  return layers::Activation({.activation = "relu", .name = name + "_ac"})(y);
}

Tensor largest(const Tensor& x) { return layers::MaxPooling2D({.pool_size = 3, .strides = 2})(x); }

Tensor inception_resnet_features(const Tensor& inputs) {
  const ResidualKind block35 = {"block35", {{{32}}, {{32}, {32, 3}}, {{32}, {48, 3}, {64, 3}}}};
  const ResidualKind block17 = {"block17", {{{192}}, {{128}, {160, {1, 7}}, {192, {7, 1}}}}};
  const ResidualKind block8 = {"block8", {{{192}}, {{192}, {224, {1, 3}}, {256, {3, 1}}}}};
  Tensor x = branch(inputs, {{32, 3, 2, "valid"}, {32, 3, 1, "valid"}, {64, 3}});
  x = largest(branch(largest(x), {{80, 1, 1, "valid"}, {192, 3, 1, "valid"}}));
  const Tensor narrow = branch(x, {{96}});
  const Tensor wide = branch(x, {{48}, {64, 5}});
  const Tensor deep = branch(x, {{64}, {96, 3}, {96, 3}});
  const Tensor mean =
      layers::AveragePooling2D({.pool_size = 3, .strides = 1, .padding = "same"})(x);
  x = beside({narrow, wide, deep, branch(mean, {{64}})}, "mixed_5b");
  for (int64_t i = 1; i <= 10; ++i) x = inception_resnet_block(x, block35, 0.17, i);
  const Tensor short_6 = branch(x, {{384, 3, 2, "valid"}});
  const Tensor long_6 = branch(x, {{256}, {256, 3}, {384, 3, 2, "valid"}});
  x = beside({short_6, long_6, largest(x)}, "mixed_6a");
  for (int64_t i = 1; i <= 20; ++i) x = inception_resnet_block(x, block17, 0.1, i);
  const Tensor first_7 = branch(x, {{256}, {384, 3, 2, "valid"}});
  const Tensor second_7 = branch(x, {{256}, {288, 3, 2, "valid"}});
  const Tensor third_7 = branch(x, {{256}, {288, 3}, {320, 3, 2, "valid"}});
  x = beside({first_7, second_7, third_7, largest(x)}, "mixed_7a");
  for (int64_t i = 1; i <= 9; ++i) x = inception_resnet_block(x, block8, 0.2, i);
  x = inception_resnet_block(x, block8, 1.0, 10, false);
  return inception_unit(x, {1536}, "conv_7b");
}

}  // namespace

Model InceptionResNetV2(const ApplicationOptions& options) {
  Architecture architecture =
      named_architecture("InceptionResNetV2", "inception_resnet_v2", options.include_top);
  architecture.default_size = 299;
  architecture.min_size = 75;
  architecture.avg_pooling = {};
  architecture.max_pooling = {};
  architecture.features = inception_resnet_features;
  architecture.name = [](const Shape&) { return "inception_resnet_v2"; };
  architecture.file = [top = options.include_top](const Shape&) {
    return fmt::format(
        "tensorflow/keras-applications/inception_resnet_v2/"
        "inception_resnet_v2_weights_tf_dim_ordering_tf_kernels{}.h5",
        top ? "" : "_notop");
  };
  return build(architecture, options);
}

Tensor inception_resnet_v2::preprocess_input(const Tensor& x) {
  return imagenet_utils::preprocess_input(x, imagenet_utils::PreprocessMode::Tf);
}

}  // namespace cornu::applications
