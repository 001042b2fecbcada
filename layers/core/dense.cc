// SPDX-License-Identifier: Apache-2.0
#include "layers/core/dense.h"

#include "framework/ops/ops.h"
#include "layers/core/quantized_weight.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, DenseOptions& options) {
  fields("units", options.units);
  fields("activation", options.activation);
  fields("use_bias", options.use_bias);
  fields("kernel_initializer", options.kernel_initializer);
  fields("bias_initializer", options.bias_initializer);
  fields("kernel_regularizer", options.kernel_regularizer);
  fields("bias_regularizer", options.bias_regularizer);
  fields("kernel_constraint", options.kernel_constraint);
  fields("bias_constraint", options.bias_constraint);
  fields("quantization_config", options.quantization_config);
  visit_lora_fields(fields, options);
}

namespace {

class DenseLayer : public WithQuantization<KerasLayerOf<DenseOptions>> {
 public:
  explicit DenseLayer(const DenseOptions& options) : WithQuantization("Dense", options) {
    require(options.units > 0,
            "expected units > 0, got {}. Say how many: layers::Dense({{.units = 64}}).",
            options.units);
  }
  bool supports_masking() const override { return true; }

  void build(const Shape& input_shape) override {
    const Variable kernel =
        add_quantizable({.shape = {known_axis(input_shape, -1), options_.units},
                         .initializer = options_.kernel_initializer,
                         .regularizer = options_.kernel_regularizer,
                         .constraint = options_.kernel_constraint,
                         .name = "kernel"},
                        {.summed = {0}, .order = {0}, .shape = {options_.units}});
    if (options_.use_bias) {
      bias_ = add_weight({.shape = {options_.units},
                          .initializer = options_.bias_initializer,
                          .regularizer = options_.bias_regularizer,
                          .constraint = options_.bias_constraint,
                          .name = "bias"});
    }
    adapt(kernel, options_.kernel_regularizer, options_.kernel_constraint, {});
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    const Tensor inputs = ops::cast(x, compute_dtype());
    Tensor y = quantized_weight() ? quantized_product(inputs) : ops::matmul(inputs, adapted());
    if (bias_.defined()) y = ops::add(y, compute(bias_));
    return options_.activation(y);
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(shape.rank() >= 2,
            "expected input (batch, …, features) of 2 axes or more, got {}. Reshape it first, for "
            "example with layers::Reshape({{1}}).",
            shape);
    if (adaptable().defined()) require_axis(shape, -1, adapted_shape()[0]);
  }

 private:
  Tensor quantized_product(const Tensor& x) const {
    const Tensor y =
        quantized_weight()->product(x, activation_quantizer(), QuantizedProduct::of_rows());
    if (!lora()) return y;
    const Tensor low = ops::matmul(ops::matmul(x, compute(lora()->a())), compute(lora()->b()));
    return ops::add(y, low * lora()->scale());
  }

  Variable bias_;
};

}  // namespace

Dense::Dense(const DenseOptions& options) : LayerHandle(std::make_shared<DenseLayer>(options)) {}

Dense Dense::from_config(const Json& config) {
  return Dense(read_layer_options<DenseOptions>(config));
}

}  // namespace cornu::layers
