// SPDX-License-Identifier: Apache-2.0
#include "layers/core/masking.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, MaskingOptions& options) {
  fields("mask_value", options.mask_value);
}

namespace {

class MaskingLayer : public KerasLayerOf<MaskingOptions> {
 public:
  explicit MaskingLayer(const MaskingOptions& options) : KerasLayerOf("Masking", options) {}
  bool supports_masking() const override { return true; }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return ops::where(ops::any(given(x), -1, true), x, 0);
  }
  Tensor compute_mask(const Tensors& inputs, const Tensor&) const override {
    return ops::any(given(inputs[0]), -1);
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(shape.rank() >= 2, "expected input (batch, …, features), got {}.", shape);
  }

 private:
  Tensor given(const Tensor& x) const { return ops::not_equal(x, options_.mask_value); }
};

}  // namespace

Masking::Masking(const MaskingOptions& options)
    : LayerHandle(std::make_shared<MaskingLayer>(options)) {}

Masking Masking::from_config(const Json& config) {
  return Masking(read_layer_options<MaskingOptions>(config));
}

}  // namespace cornu::layers
