// SPDX-License-Identifier: Apache-2.0
#include "applications/efficientnet_blocks.h"

#include "framework/model/initializers.h"
#include "layers/layers.h"

namespace cornu::applications {

Initializer of_convolutions() {
  return initializers::VarianceScaling({.scale = 2.0, .mode = "fan_out"});
}

Tensor activated(const Tensor& x, const std::string& bn, const std::string& name, double momentum) {
  const Tensor y = layers::BatchNormalization({.momentum = momentum, .name = bn})(x);
  return layers::Activation({.activation = "swish", .name = name})(y);
}

Tensor pointwise(const Tensor& x, int64_t filters, const std::string& name,
                 const Activation& activation, bool use_bias) {
  return layers::Conv2D({.filters = filters,
                         .kernel_size = 1,
                         .padding = "same",
                         .activation = activation,
                         .use_bias = use_bias,
                         .kernel_initializer = of_convolutions(),
                         .name = name})(x);
}

Tensor excited(const Tensor& x, int64_t squeezed, const std::string& prefix) {
  const int64_t filters = x.shape().back();
  Tensor weights = layers::GlobalAveragePooling2D({.name = prefix + "se_squeeze"})(x);
  weights = layers::Reshape({.target_shape = Shape{1, 1, filters}, .name = prefix + "se_reshape"})(
      weights);
  weights = pointwise(weights, squeezed, prefix + "se_reduce", "swish", true);
  weights = pointwise(weights, filters, prefix + "se_expand", "sigmoid", true);
  return layers::Multiply({.name = prefix + "se_excite"})({x, weights});
}

Tensor with_shortcut(const Tensor& x, const Tensor& inputs, double drop_rate,
                     const std::string& prefix) {
  if (drop_rate <= 0) return layers::Add({.name = prefix + "add"})({x, inputs});
  const layers::Dropout drop(
      {.rate = drop_rate, .noise_shape = Shape{kUnknown, 1, 1, 1}, .name = prefix + "drop"});
  return layers::Add({.name = prefix + "add"})({drop(x), inputs});
}

void set_efficientnet_top(Architecture& architecture, double dropout) {
  architecture.head = [dropout](const Tensor& x) {
    const Tensor y = layers::GlobalAveragePooling2D({.name = "avg_pool"})(x);
    return Tensor(layers::Dropout({.rate = dropout, .name = "top_dropout"})(y));
  };
  architecture.classes_initializer = initializers::VarianceScaling(
      {.scale = 1.0 / 3.0, .mode = "fan_out", .distribution = "uniform"});
}

}  // namespace cornu::applications
