// SPDX-License-Identifier: Apache-2.0
#include "layers/core/layer_scale.h"

#include "framework/model/initializers.h"
#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, LayerScaleOptions& options) {
  fields("init_values", options.init_values);
  fields("projection_dim", options.projection_dim);
}

namespace {

class LayerScaleLayer : public KerasLayerOf<LayerScaleOptions> {
 public:
  explicit LayerScaleLayer(const LayerScaleOptions& options) : KerasLayerOf("LayerScale", options) {
    require(options.projection_dim > 0, "expected projection_dim > 0, got {}.",
            options.projection_dim);
  }
  Json module() const override { return "keras.src.applications.convnext"; }

  void build(const Shape&) override {
    gamma_ = add_weight({.shape = {options_.projection_dim},
                         .initializer = initializers::Constant(options_.init_values),
                         .name = "gamma"});
  }

  Tensor call(const Tensor& x, const CallArgs&) override { return x * compute(gamma_); }

 protected:
  void check_input(const Shape& shape) const override {
    require(shape.rank() >= 1, "expected an input of 1 axis or more, got {}.", shape);
    require_axis(shape, -1, options_.projection_dim);
  }

 private:
  Variable gamma_;
};

}  // namespace

LayerScale::LayerScale(const LayerScaleOptions& options)
    : LayerHandle(std::make_shared<LayerScaleLayer>(options)) {}

LayerScale LayerScale::from_config(const Json& config) {
  return LayerScale(read_layer_options<LayerScaleOptions>(config));
}

}  // namespace cornu::layers
