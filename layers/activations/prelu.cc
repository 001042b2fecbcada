// SPDX-License-Identifier: Apache-2.0
#include "layers/activations/prelu.h"

#include <algorithm>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, PReLUOptions& options) {
  fields("alpha_initializer", options.alpha_initializer);
  fields("alpha_regularizer", options.alpha_regularizer);
  fields("alpha_constraint", options.alpha_constraint);
  fields("shared_axes", options.shared_axes);
}

namespace {

class PReLULayer : public KerasLayerOf<PReLUOptions> {
 public:
  explicit PReLULayer(const PReLUOptions& options) : KerasLayerOf("PReLU", options) {
    if (options.shared_axes.is_one()) options_.shared_axes = options.shared_axes.values();
  }
  bool supports_masking() const override { return true; }

  void build(const Shape& input_shape) override {
    Shape shape = input_shape.slice(1);
    for (const int64_t axis : options_.shared_axes.values()) {
      require(axis >= 1 && axis < input_shape.rank(),
              "expected shared_axes in [1, {}) for input {}, got {}.", input_shape.rank(),
              input_shape, axis);
      shape[axis - 1] = 1;
    }
    alpha_ = add_weight({.shape = shape,
                         .initializer = options_.alpha_initializer,
                         .regularizer = options_.alpha_regularizer,
                         .constraint = options_.alpha_constraint,
                         .name = "alpha"});
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return ops::subtract(ops::relu(x), ops::multiply(compute(alpha_), ops::relu(ops::negative(x))));
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(shape.rank() >= 2, "expected input (batch, …) of 2 axes or more, got {}.", shape);
    if (!alpha_.defined()) return;
    require(shape.rank() == alpha_.shape().rank() + 1,
            "expected {} axes, as when the layer was built, got {}.", alpha_.shape().rank() + 1,
            shape);
    const auto& shared = options_.shared_axes.values();
    for (int64_t axis = 1; axis < shape.rank(); ++axis) {
      if (std::find(shared.begin(), shared.end(), axis) == shared.end()) {
        require_axis(shape, axis, alpha_.shape()[axis - 1]);
      }
    }
  }

 private:
  Variable alpha_;
};

}  // namespace

PReLU::PReLU(const PReLUOptions& options) : LayerHandle(std::make_shared<PReLULayer>(options)) {}

PReLU PReLU::from_config(const Json& config) {
  return PReLU(read_layer_options<PReLUOptions>(config));
}

}  // namespace cornu::layers
