// SPDX-License-Identifier: Apache-2.0
#include "layers/normalization/rms_normalization.h"

#include <algorithm>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RMSNormalizationOptions& options) {
  fields("axis", options.axis);
  fields("epsilon", options.epsilon);
}

namespace {

class RMSNormalizationLayer : public KerasLayerOf<RMSNormalizationOptions> {
 public:
  explicit RMSNormalizationLayer(const RMSNormalizationOptions& options)
      : KerasLayerOf("RMSNormalization", options) {
    require(!options.axis.values().empty(), "expected an axis, got none.");
    require(options.epsilon >= 0, "expected epsilon >= 0, got {}.", options.epsilon);
  }

  void build(const Shape& input_shape) override {
    std::vector<int64_t> axes = options_.axis.values();
    std::sort(axes.begin(), axes.end());
    options_.axis = axes;
    Shape shape;
    for (const int64_t axis : axes) shape.push_back(known_axis(input_shape, axis));
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
    if (!scale_.defined()) return;
    for (int64_t i = 0; i < scale_.rank(); ++i) {
      require_axis(shape, options_.axis.values()[static_cast<size_t>(i)], scale_.dim(i));
    }
  }

 private:
  Variable scale_;
};

}  // namespace

RMSNormalization::RMSNormalization(const RMSNormalizationOptions& options)
    : LayerHandle(std::make_shared<RMSNormalizationLayer>(options)) {}

RMSNormalization RMSNormalization::from_config(const Json& config) {
  return RMSNormalization(read_layer_options<RMSNormalizationOptions>(config));
}

}  // namespace cornu::layers
