// SPDX-License-Identifier: Apache-2.0
// The layer of docs/adding/layer.md: its source.
#include "tests/docs/rms_normalization.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::example {

template <class Fields>
void visit_fields(Fields& fields, RMSNormalizationOptions& options) {
  fields("axis", options.axis);
  fields("epsilon", options.epsilon);
}

namespace {

class RMSNormalizationLayer : public layers::KerasLayerOf<RMSNormalizationOptions> {
 public:
  explicit RMSNormalizationLayer(const RMSNormalizationOptions& options)
      : KerasLayerOf("RMSNormalization", options) {
    require(options.epsilon > 0, "expected epsilon > 0, got {}.", options.epsilon);
  }
  bool supports_masking() const override { return true; }

  void build(const Shape& input_shape) override {
    Shape shape;
    for (int64_t axis : options_.axis.values()) shape.push_back(known_axis(input_shape, axis));
    scale_ = add_weight({.shape = shape, .initializer = "ones", .name = "scale"});
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return ops::rms_normalization(
        x, {.scale = compute(scale_), .axis = options_.axis.values(), .epsilon = options_.epsilon});
  }

 protected:
  void check_input(const Shape& shape) const override {
    for (const int64_t axis : options_.axis.values()) {
      require(axis >= -shape.rank() && axis < shape.rank(),
              "expected an input with axis {}, got {}.", axis, shape);
    }
  }

 private:
  Variable scale_;
};

}  // namespace

RMSNormalization::RMSNormalization(const RMSNormalizationOptions& options)
    : LayerHandle(std::make_shared<RMSNormalizationLayer>(options)) {}

RMSNormalization RMSNormalization::from_config(const Json& config) {
  return RMSNormalization(layers::read_layer_options<RMSNormalizationOptions>(config));
}

}  // namespace cornu::example
