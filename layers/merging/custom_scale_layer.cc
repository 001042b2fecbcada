// SPDX-License-Identifier: Apache-2.0
#include "layers/merging/custom_scale_layer.h"

#include "layers/merging/merge_base.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, CustomScaleLayerOptions& options) {
  fields("scale", options.scale);
}

namespace {

class ScaledSum : public MergeBase<CustomScaleLayerOptions> {
 public:
  explicit ScaledSum(const CustomScaleLayerOptions& options)
      : MergeBase("CustomScaleLayer", options) {}
  bool supports_masking() const override { return false; }
  Json module() const override { return "keras.src.applications.inception_resnet_v2"; }

 protected:
  void check_inputs(const std::vector<Shape>& shapes) const override {
    require(shapes.size() == 2, "expected 2 inputs, got {}.", shapes.size());
  }
  Tensor merge(const std::vector<Tensor>& inputs) const override {
    return inputs[0] + inputs[1] * options_.scale;
  }
};

}  // namespace

CustomScaleLayer::CustomScaleLayer(const CustomScaleLayerOptions& options)
    : LayerHandle(std::make_shared<ScaledSum>(options)) {}

CustomScaleLayer CustomScaleLayer::from_config(const Json& config) {
  return CustomScaleLayer(read_layer_options<CustomScaleLayerOptions>(config));
}

}  // namespace cornu::layers
