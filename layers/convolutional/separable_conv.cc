// SPDX-License-Identifier: Apache-2.0
#include "layers/convolutional/separable_conv.h"

#include "layers/convolutional/conv_base.h"

namespace cornu::layers {

template <class Fields, int kAxes>
void visit_fields(Fields& fields, SeparableConvOptions<kAxes>& options) {
  fields("depth_multiplier", options.depth_multiplier);
  fields("filters", options.filters);
  visit_window_fields(fields, options);
  fields("activation", options.activation);
  fields("use_bias", options.use_bias);
  fields("depthwise_initializer", options.depthwise_initializer);
  fields("pointwise_initializer", options.pointwise_initializer);
  fields("bias_initializer", options.bias_initializer);
  fields("depthwise_regularizer", options.depthwise_regularizer);
  fields("pointwise_regularizer", options.pointwise_regularizer);
  fields("bias_regularizer", options.bias_regularizer);
  fields("activity_regularizer", options.activity_regularizer);
  fields("depthwise_constraint", options.depthwise_constraint);
  fields("pointwise_constraint", options.pointwise_constraint);
  fields("bias_constraint", options.bias_constraint);
}

namespace {

template <int kAxes>
class SeparableConvLayer : public ConvBase<SeparableConvOptions<kAxes>, kAxes> {
  using Base = ConvBase<SeparableConvOptions<kAxes>, kAxes>;

 protected:
  using Base::options_;

 public:
  explicit SeparableConvLayer(const SeparableConvOptions<kAxes>& options)
      : Base(fmt::format("SeparableConv{}D", kAxes), options) {
    this->require(options.filters > 0, "expected filters > 0, got {}.", options.filters);
    this->require(options.depth_multiplier > 0, "expected depth_multiplier > 0, got {}.",
                  options.depth_multiplier);
  }

  void build(const Shape& input_shape) override {
    const int64_t channels = this->set_channels(input_shape);
    depthwise_kernel_ =
        this->add_weight({.shape = this->kernel_shape(channels, options_.depth_multiplier),
                          .initializer = options_.depthwise_initializer,
                          .regularizer = options_.depthwise_regularizer,
                          .constraint = options_.depthwise_constraint,
                          .name = "depthwise_kernel"});
    const Shape ones(std::vector<int64_t>(kAxes, 1));
    pointwise_kernel_ = this->add_weight(
        {.shape = ones.concat({channels * options_.depth_multiplier, options_.filters}),
         .initializer = options_.pointwise_initializer,
         .regularizer = options_.pointwise_regularizer,
         .constraint = options_.pointwise_constraint,
         .name = "pointwise_kernel"});
    this->add_bias(options_.filters);
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return this->biased_and_activated(
        ops::separable_conv(ops::cast(x, this->compute_dtype()), this->compute(depthwise_kernel_),
                            this->compute(pointwise_kernel_),
                            {.strides = options_.strides.values(),
                             .padding = options_.padding,
                             .dilation_rate = options_.dilation_rate.values()}));
  }

 private:
  Variable depthwise_kernel_;
  Variable pointwise_kernel_;
};

}  // namespace

template <int kAxes>
SeparableConv<kAxes>::SeparableConv(const SeparableConvOptions<kAxes>& options)
    : LayerHandle(std::make_shared<InDataFormat<SeparableConvLayer<kAxes>, kAxes>>(options)) {}

template <int kAxes>
SeparableConv<kAxes> SeparableConv<kAxes>::from_config(const Json& config) {
  return SeparableConv(read_layer_options<SeparableConvOptions<kAxes>>(config));
}

template class SeparableConv<1>;
template class SeparableConv<2>;

}  // namespace cornu::layers
