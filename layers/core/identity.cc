// SPDX-License-Identifier: Apache-2.0
#include "layers/core/identity.h"

#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields&, IdentityOptions&) {}

namespace {

class IdentityLayer : public KerasLayerOf<IdentityOptions> {
 public:
  explicit IdentityLayer(const IdentityOptions& options) : KerasLayerOf("Identity", options) {}
  bool supports_masking() const override { return true; }
  void build_list(const std::vector<Shape>&) override {}
  Tensors call_list(const Tensors& inputs, const CallArgs&) override { return inputs; }
};

}  // namespace

Identity::Identity(const IdentityOptions& options)
    : LayerHandle(std::make_shared<IdentityLayer>(options)) {}

Identity Identity::from_config(const Json& config) {
  return Identity(read_layer_options<IdentityOptions>(config));
}

}  // namespace cornu::layers
