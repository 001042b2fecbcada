// SPDX-License-Identifier: Apache-2.0
#include "layers/normalization/unit_normalization.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, UnitNormalizationOptions& options) {
  fields("axis", options.axis);
}

namespace {

class UnitNormalizationLayer : public KerasLayerOf<UnitNormalizationOptions> {
 public:
  explicit UnitNormalizationLayer(const UnitNormalizationOptions& options)
      : KerasLayerOf("UnitNormalization", options) {
    require(!options.axis.values().empty(), "expected an axis, got none.");
  }
  bool supports_masking() const override { return true; }
  Tensor call(const Tensor& x, const CallArgs&) override {
    return ops::normalize(x, {.axis = options_.axis.values(), .epsilon = 1e-12});
  }

 protected:
  void check_input(const Shape& shape) const override {
    for (const int64_t axis : options_.axis.values()) {
      require(axis >= -shape.rank() && axis < shape.rank(),
              "expected an input with axis {}, got {}.", axis, shape);
    }
  }
};

}  // namespace

UnitNormalization::UnitNormalization(const UnitNormalizationOptions& options)
    : LayerHandle(std::make_shared<UnitNormalizationLayer>(options)) {}

UnitNormalization UnitNormalization::from_config(const Json& config) {
  return UnitNormalization(read_layer_options<UnitNormalizationOptions>(config));
}

}  // namespace cornu::layers
