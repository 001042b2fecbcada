// SPDX-License-Identifier: Apache-2.0
#include "layers/convolutional/conv_transpose.h"

#include "layers/convolutional/conv_base.h"

namespace cornu::layers {

template <class Fields, int kAxes>
void visit_fields(Fields& fields, ConvTransposeOptions<kAxes>& options) {
  fields("filters", options.filters);
  fields("kernel_size", options.kernel_size);
  fields("strides", options.strides);
  fields("padding", options.padding);
  fields("output_padding", options.output_padding);
  fields("data_format", options.data_format);
  fields("dilation_rate", options.dilation_rate);
  visit_kernel_fields(fields, options);
}

namespace {

template <int kAxes>
class ConvTransposeLayer : public ConvBase<ConvTransposeOptions<kAxes>, kAxes> {
  using Base = ConvBase<ConvTransposeOptions<kAxes>, kAxes>;

 protected:
  using Base::options_;
  using Base::require;

 public:
  explicit ConvTransposeLayer(const ConvTransposeOptions<kAxes>& options)
      : Base(fmt::format("Conv{}DTranspose", kAxes), options) {
    require(options.filters > 0, "expected filters > 0, got {}.", options.filters);
    if (!options.output_padding.given()) return;
    for (int i = 0; i < kAxes; ++i) {
      const int64_t extra = options.output_padding[i];
      require(extra >= 0 && extra < options.strides[i],
              "expected output_padding in [0, strides), got output_padding {} and strides {}.",
              Shape(options.output_padding.values()), Shape(options.strides.values()));
    }
  }

  void build(const Shape& input_shape) override {
    const int64_t channels = this->set_channels(input_shape);
    kernel_ = this->add_weight({.shape = this->kernel_shape(options_.filters, channels),
                                .initializer = options_.kernel_initializer,
                                .regularizer = options_.kernel_regularizer,
                                .constraint = options_.kernel_constraint,
                                .name = "kernel"});
    this->add_bias(options_.filters);
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return this->biased_and_activated(
        ops::conv_transpose(ops::cast(x, this->compute_dtype()), this->compute(kernel_),
                            {.strides = options_.strides.values(),
                             .padding = options_.padding,
                             .output_padding = options_.output_padding.values(),
                             .dilation_rate = options_.dilation_rate.values()}));
  }

 protected:
  // The output is the larger of the two, so a window always fits.
  void check_input(const Shape& shape) const override { this->check_channels(shape); }

 private:
  Variable kernel_;
};

}  // namespace

template <int kAxes>
ConvTranspose<kAxes>::ConvTranspose(const ConvTransposeOptions<kAxes>& options)
    : LayerHandle(std::make_shared<InDataFormat<ConvTransposeLayer<kAxes>, kAxes>>(options)) {}

template <int kAxes>
ConvTranspose<kAxes> ConvTranspose<kAxes>::from_config(const Json& config) {
  return ConvTranspose(read_layer_options<ConvTransposeOptions<kAxes>>(config));
}

template class ConvTranspose<1>;
template class ConvTranspose<2>;
template class ConvTranspose<3>;

}  // namespace cornu::layers
