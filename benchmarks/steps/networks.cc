// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/steps/networks.h"

namespace cornu::benchmarks {
namespace {

constexpr int64_t kClasses = 10;

struct Conv {
  int64_t filters;
  int64_t kernel = 1;
  int64_t strides = 1;
  bool use_bias = false;
  const char* padding = "same";
};

Tensor convolved(const Tensor& x, const Conv& conv) {
  return layers::Conv2D({.filters = conv.filters,
                         .kernel_size = conv.kernel,
                         .strides = conv.strides,
                         .padding = conv.padding,
                         .use_bias = conv.use_bias})(x);
}

Tensor classified(const Tensor& x) {
  return layers::Dense({.units = kClasses})(layers::GlobalAveragePooling2D()(x));
}

Tensor mobile_normalized(const Tensor& x) {
  return layers::BatchNormalization({.momentum = 0.999, .epsilon = 1e-3})(x);
}
Tensor relu6(const Tensor& x) { return layers::ReLU({.max_value = 6.0})(x); }

struct Inverted {
  int64_t filters;
  int64_t strides;
  int64_t expansion = 6;
};

Tensor inverted_residual(const Tensor& x, const Inverted& block) {
  const int64_t channels = x.shape().back();
  Tensor y = x;
  if (block.expansion > 1) {
    y = relu6(mobile_normalized(convolved(y, {.filters = block.expansion * channels})));
  }
  const bool strided = block.strides == 2;
  if (strided) {
    layers::ZeroPadding2DOptions padding;
    padding.padding = {{0, 1}, {0, 1}};  // of even sizes
    y = layers::ZeroPadding2D(padding)(y);
  }
  y = layers::DepthwiseConv2D({.kernel_size = 3,
                               .strides = block.strides,
                               .padding = strided ? "valid" : "same",
                               .use_bias = false})(y);
  y = relu6(mobile_normalized(y));
  y = mobile_normalized(convolved(y, {.filters = block.filters}));
  if (channels != block.filters || strided) return y;
  return layers::Add()({x, y});
}

Tensor residual_normalized(const Tensor& x) {
  return layers::BatchNormalization({.epsilon = 1.001e-5})(x);
}
Tensor relu(const Tensor& x) { return layers::Activation("relu")(x); }

Tensor residual(const Tensor& x, int64_t filters, int64_t strides, bool first) {
  const Conv narrow{.filters = filters, .strides = strides, .use_bias = true, .padding = "valid"};
  Conv wide{.filters = 4 * filters, .strides = strides, .use_bias = true, .padding = "valid"};
  const Tensor shortcut = first ? residual_normalized(convolved(x, wide)) : x;
  wide.strides = 1;
  Tensor y = relu(residual_normalized(convolved(x, narrow)));
  y = relu(residual_normalized(convolved(y, {.filters = filters, .kernel = 3, .use_bias = true})));
  y = residual_normalized(convolved(y, wide));
  return relu(layers::Add()({shortcut, y}));
}

}  // namespace

Model mobilenet_v2(const Shape& example) {
  const Tensor input = Input({.shape = example});
  Tensor x = relu6(mobile_normalized(convolved(input, {.filters = 32, .kernel = 3, .strides = 2})));
  const Inverted blocks[] = {{16, 1, 1}, {24, 2},  {24, 1},  {32, 2},  {32, 1}, {32, 1},
                             {64, 2},    {64, 1},  {64, 1},  {64, 1},  {96, 1}, {96, 1},
                             {96, 1},    {160, 2}, {160, 1}, {160, 1}, {320, 1}};
  for (const Inverted& block : blocks) x = inverted_residual(x, block);
  x = relu6(mobile_normalized(convolved(x, {.filters = 1280})));
  return Model(input, classified(x));
}

Model resnet50(const Shape& example) {
  const Tensor input = Input({.shape = example});
  layers::ZeroPadding2DOptions three;
  three.padding = 3;
  layers::ZeroPadding2DOptions one;
  one.padding = 1;
  Tensor x = layers::ZeroPadding2D(three)(input);
  x = convolved(x,
                {.filters = 64, .kernel = 7, .strides = 2, .use_bias = true, .padding = "valid"});
  x = relu(residual_normalized(x));
  x = layers::ZeroPadding2D(one)(x);
  x = layers::MaxPooling2D({.pool_size = 3, .strides = 2})(x);
  struct Stage {
    int64_t filters;
    int blocks;
    int64_t strides;
  };
  for (const Stage& stage : {Stage{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}}) {
    for (int block = 0; block < stage.blocks; ++block) {
      x = residual(x, stage.filters, block == 0 ? stage.strides : 1, block == 0);
    }
  }
  return Model(input, classified(x));
}

}  // namespace cornu::benchmarks
