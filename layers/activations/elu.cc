// SPDX-License-Identifier: Apache-2.0
#include "layers/activations/elu.h"

#include "framework/model/activations.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ELUOptions& options) {
  fields("alpha", options.alpha);
}

namespace {

class ELULayer : public KerasLayerOf<ELUOptions> {
 public:
  explicit ELULayer(const ELUOptions& options) : KerasLayerOf("ELU", options) {}
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallArgs&) override {
    return activations::elu(x, options_.alpha);
  }
  // Keras writes `alpha` between the name and the other fields.
  Json get_config() const override {
    Json config = Json::object({{"name", name()}});
    write_options(config, options_);
    config.merge(Layer::get_config());
    return config;
  }
};

}  // namespace

ELU::ELU(const ELUOptions& options) : LayerHandle(std::make_shared<ELULayer>(options)) {}

ELU ELU::from_config(const Json& config) { return ELU(read_layer_options<ELUOptions>(config)); }

}  // namespace cornu::layers
