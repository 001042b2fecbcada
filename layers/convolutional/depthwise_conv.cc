// SPDX-License-Identifier: Apache-2.0
#include "layers/convolutional/depthwise_conv.h"

#include "layers/convolutional/conv_base.h"

namespace cornu::layers {

template <class Fields, int kAxes>
void visit_fields(Fields& fields, DepthwiseConvOptions<kAxes>& options) {
  fields("depth_multiplier", options.depth_multiplier);
  visit_window_fields(fields, options);
  fields("activation", options.activation);
  fields("use_bias", options.use_bias);
  fields("depthwise_initializer", options.depthwise_initializer);
  fields("bias_initializer", options.bias_initializer);
  fields("depthwise_regularizer", options.depthwise_regularizer);
  fields("bias_regularizer", options.bias_regularizer);
  fields("activity_regularizer", options.activity_regularizer);
  fields("depthwise_constraint", options.depthwise_constraint);
  fields("bias_constraint", options.bias_constraint);
}

namespace {

template <int kAxes>
class DepthwiseConvLayer : public ConvBase<DepthwiseConvOptions<kAxes>, kAxes> {
  using Base = ConvBase<DepthwiseConvOptions<kAxes>, kAxes>;

 protected:
  using Base::options_;

 public:
  explicit DepthwiseConvLayer(const DepthwiseConvOptions<kAxes>& options)
      : Base(fmt::format("DepthwiseConv{}D", kAxes), options) {
    this->require(options.depth_multiplier > 0, "expected depth_multiplier > 0, got {}.",
                  options.depth_multiplier);
  }

  void build(const Shape& input_shape) override {
    const int64_t channels = this->set_channels(input_shape);
    kernel_ = this->add_weight({.shape = this->kernel_shape(channels, options_.depth_multiplier),
                                .initializer = options_.depthwise_initializer,
                                .regularizer = options_.depthwise_regularizer,
                                .constraint = options_.depthwise_constraint,
                                .name = "kernel"});
    this->add_bias(channels * options_.depth_multiplier);
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return this->biased_and_activated(
        ops::depthwise_conv(ops::cast(x, this->compute_dtype()), this->compute(kernel_),
                            {.strides = options_.strides.values(),
                             .padding = options_.padding,
                             .dilation_rate = options_.dilation_rate.values()}));
  }

 private:
  Variable kernel_;
};

}  // namespace

template <int kAxes>
DepthwiseConv<kAxes>::DepthwiseConv(const DepthwiseConvOptions<kAxes>& options)
    : LayerHandle(std::make_shared<InDataFormat<DepthwiseConvLayer<kAxes>, kAxes>>(options)) {}

template <int kAxes>
DepthwiseConv<kAxes> DepthwiseConv<kAxes>::from_config(const Json& config) {
  return DepthwiseConv(read_layer_options<DepthwiseConvOptions<kAxes>>(config));
}

template class DepthwiseConv<1>;
template class DepthwiseConv<2>;

}  // namespace cornu::layers
