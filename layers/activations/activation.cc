// SPDX-License-Identifier: Apache-2.0
#include "layers/activations/activation.h"

#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ActivationOptions& options) {
  fields("activation", options.activation);
}

namespace {

class ActivationLayer : public KerasLayerOf<ActivationOptions> {
 public:
  explicit ActivationLayer(const ActivationOptions& options)
      : KerasLayerOf("Activation", options) {}
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallArgs&) override { return options_.activation(x); }
};

}  // namespace

Activation::Activation(const ActivationOptions& options)
    : LayerHandle(std::make_shared<ActivationLayer>(options)) {}

Activation Activation::from_config(const Json& config) {
  return Activation(read_layer_options<ActivationOptions>(config));
}

}  // namespace cornu::layers
