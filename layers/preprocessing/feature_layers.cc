// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/feature_layers.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields&, FeatureLayerOptions&) {}

template <class Fields>
void visit_fields(Fields& fields, TFDConcatOptions& options) {
  fields("axis", options.axis);
}

namespace {

class TFDIdentityLayer : public KerasLayerOf<FeatureLayerOptions> {
 public:
  explicit TFDIdentityLayer(const FeatureLayerOptions& options)
      : KerasLayerOf("TFDIdentity", options) {}
  Json module() const override { return kFeatureModule; }
  Json get_config() const override {
    const Json config = Layer::get_config();
    return Json::object({{"name", config.at("name")},
                         {"dtype", config.at("dtype")},
                         {"trainable", config.at("trainable")}});
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return x.dtype() == DType::String ? x : ops::cast(x, compute_dtype());
  }
};

class TFDConcatLayer : public KerasLayerOf<TFDConcatOptions> {
 public:
  explicit TFDConcatLayer(const TFDConcatOptions& options) : KerasLayerOf("TFDConcat", options) {}
  Json module() const override { return kFeatureModule; }
  void build_list(const std::vector<Shape>&) override {}
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    return ops::concatenate(inputs.list(), options_.axis);
  }
};

}  // namespace

TFDIdentity::TFDIdentity(const FeatureLayerOptions& options)
    : LayerHandle(std::make_shared<TFDIdentityLayer>(options)) {}

TFDIdentity TFDIdentity::from_config(const Json& config) {
  return TFDIdentity(read_layer_options<FeatureLayerOptions>(config));
}

TFDConcat::TFDConcat(const TFDConcatOptions& options)
    : LayerHandle(std::make_shared<TFDConcatLayer>(options)) {}

TFDConcat TFDConcat::from_config(const Json& config) {
  return TFDConcat(read_layer_options<TFDConcatOptions>(config));
}

}  // namespace cornu::layers
