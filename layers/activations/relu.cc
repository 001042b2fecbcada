// SPDX-License-Identifier: Apache-2.0
#include "layers/activations/relu.h"

#include "framework/model/activations.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ReLUOptions& options) {
  fields("max_value", options.max_value);
  fields("negative_slope", options.negative_slope);
  fields("threshold", options.threshold);
}

template <class Fields>
void visit_fields(Fields& fields, LeakyReLUOptions& options) {
  fields("negative_slope", options.negative_slope);
}

namespace {

class ReLULayer : public KerasLayerOf<ReLUOptions> {
 public:
  explicit ReLULayer(const ReLUOptions& options) : KerasLayerOf("ReLU", options) {
    require(options.max_value.value_or(0) >= 0, "expected max_value >= 0 or None, got {}.",
            options.max_value.value_or(0));
    require(options.negative_slope >= 0, "expected negative_slope >= 0, got {}.",
            options.negative_slope);
    require(options.threshold >= 0, "expected threshold >= 0, got {}.", options.threshold);
  }
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallArgs&) override {
    return activations::relu(x, {.negative_slope = options_.negative_slope,
                                 .max_value = options_.max_value,
                                 .threshold = options_.threshold});
  }
};

class LeakyReLULayer : public KerasLayerOf<LeakyReLUOptions> {
 public:
  explicit LeakyReLULayer(const LeakyReLUOptions& options) : KerasLayerOf("LeakyReLU", options) {
    require(options.negative_slope >= 0, "expected negative_slope >= 0, got {}.",
            options.negative_slope);
  }
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallArgs&) override {
    return activations::leaky_relu(x, options_.negative_slope);
  }
};

}  // namespace

ReLU::ReLU(const ReLUOptions& options) : LayerHandle(std::make_shared<ReLULayer>(options)) {}

ReLU ReLU::from_config(const Json& config) { return ReLU(read_layer_options<ReLUOptions>(config)); }

LeakyReLU::LeakyReLU(const LeakyReLUOptions& options)
    : LayerHandle(std::make_shared<LeakyReLULayer>(options)) {}

LeakyReLU LeakyReLU::from_config(const Json& config) {
  auto options = read_layer_options<LeakyReLUOptions>(config);
  if (const Json* alpha = config.find("alpha")) {  // Keras 2's name
    options.negative_slope = alpha->as_double();
  }
  return LeakyReLU(options);
}

}  // namespace cornu::layers
