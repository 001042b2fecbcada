// SPDX-License-Identifier: Apache-2.0
#include "applications/inception_v3.h"

#include <initializer_list>

#include "applications/architecture.h"
#include "applications/blocks.h"
#include "layers/layers.h"

namespace cornu::applications {
namespace {

// A rows x columns convolution with normalization and relu. It has stride 2 only if it isn't
// padded.
struct InceptionConv {
  int64_t filters;
  int64_t rows;
  int64_t columns;
  bool pad = true;
  int64_t stride = 1;
};

Tensor chained(Tensor x, std::initializer_list<InceptionConv> convolutions) {
  for (const InceptionConv& one : convolutions) {
    x = layers::Conv2D({.filters = one.filters,
                        .kernel_size = {one.rows, one.columns},
                        .strides = one.stride,
                        .padding = one.pad ? "same" : "valid",
                        .use_bias = false})(x);
    x = rectified(layers::BatchNormalization({.scale = false})(x), {});
  }
  return x;
}

Tensor average_branch(const Tensor& x, int64_t filters) {
  const Tensor y = layers::AveragePooling2D({.pool_size = 3, .strides = 1, .padding = "same"})(x);
  return chained(y, {{filters, 1, 1}});
}

Tensor halved(const Tensor& x) { return layers::MaxPooling2D({.pool_size = 3, .strides = 2})(x); }

Tensor joined(const Tensors& branches, const std::string& name) {
  return layers::Concatenate({.axis = 3, .name = name})(branches);
}

// mixed0 to mixed2: 35 x 35 for a 299 x 299 input.
Tensor mixed_35(const Tensor& x, int64_t pooled_filters, const std::string& name) {
  const Tensor one = chained(x, {{64, 1, 1}});
  const Tensor five = chained(x, {{48, 1, 1}, {64, 5, 5}});
  const Tensor three = chained(x, {{64, 1, 1}, {96, 3, 3}, {96, 3, 3}});
  const Tensor pool = average_branch(x, pooled_filters);
  return joined({one, five, three, pool}, name);
}

// mixed4 to mixed7: 17 x 17, with `filters` in their branches.
Tensor mixed_17(const Tensor& x, int64_t filters, const std::string& name) {
  const Tensor one = chained(x, {{192, 1, 1}});
  const Tensor seven = chained(x, {{filters, 1, 1}, {filters, 1, 7}, {192, 7, 1}});
  const Tensor twice =
      chained(x, {{filters, 1, 1}, {filters, 7, 1}, {filters, 1, 7}, {filters, 7, 1}, {192, 1, 7}});
  const Tensor pool = average_branch(x, 192);
  return joined({one, seven, twice, pool}, name);
}

// Concatenates a 1 x 3 and a 3 x 1 convolution of `x`.
Tensor split_three(const Tensor& x, const std::string& name) {
  const Tensor by_columns = chained(x, {{384, 1, 3}});
  const Tensor by_rows = chained(x, {{384, 3, 1}});
  return joined({by_columns, by_rows}, name);
}

// mixed9 and mixed10: 8 x 8.
Tensor mixed_8(const Tensor& x, int number) {
  const Tensor one = chained(x, {{320, 1, 1}});
  const Tensor three = split_three(chained(x, {{384, 1, 1}}), fmt::format("mixed9_{}", number));
  const Tensor twice = split_three(chained(x, {{448, 1, 1}, {384, 3, 3}}), {});
  const Tensor pool = average_branch(x, 192);
  return joined({one, three, twice, pool}, fmt::format("mixed{}", 9 + number));
}

Tensor inception_features(const Tensor& inputs) {
  Tensor x = chained(inputs, {{32, 3, 3, false, 2}, {32, 3, 3, false}, {64, 3, 3}});
  x = halved(x);
  x = halved(chained(x, {{80, 1, 1, false}, {192, 3, 3, false}}));
  x = mixed_35(x, 32, "mixed0");
  x = mixed_35(x, 64, "mixed1");
  x = mixed_35(x, 64, "mixed2");
  Tensor first = chained(x, {{384, 3, 3, false, 2}});
  Tensor second = chained(x, {{64, 1, 1}, {96, 3, 3}, {96, 3, 3, false, 2}});
  x = joined({first, second, halved(x)}, "mixed3");
  x = mixed_17(x, 128, "mixed4");
  x = mixed_17(x, 160, "mixed5");
  x = mixed_17(x, 160, "mixed6");
  x = mixed_17(x, 192, "mixed7");
  first = chained(x, {{192, 1, 1}, {320, 3, 3, false, 2}});
  second = chained(x, {{192, 1, 1}, {192, 1, 7}, {192, 7, 1}, {192, 3, 3, false, 2}});
  x = joined({first, second, halved(x)}, "mixed8");
  return mixed_8(mixed_8(x, 0), 1);
}

}  // namespace

Model InceptionV3(const ApplicationOptions& options) {
  Architecture architecture =
      named_architecture("InceptionV3", "inception_v3", options.include_top);
  architecture.default_size = 299;
  architecture.min_size = 75;
  architecture.avg_pooling = architecture.max_pooling = {};
  architecture.features = inception_features;
  architecture.name = [](const Shape&) { return "inception_v3"; };
  architecture.file = [top = options.include_top](const Shape&) {
    return fmt::format(
        "tensorflow/keras-applications/inception_v3/"
        "inception_v3_weights_tf_dim_ordering_tf_kernels{}.h5",
        top ? "" : "_notop");
  };
  return build(architecture, options);
}

Tensor inception_v3::preprocess_input(const Tensor& x) {
  return imagenet_utils::preprocess_input(x, imagenet_utils::PreprocessMode::Tf);
}

}  // namespace cornu::applications
