// SPDX-License-Identifier: Apache-2.0
#include "layers/convolutional/conv.h"

#include "layers/convolutional/conv_base.h"
#include "layers/core/lora.h"

namespace cornu::layers {

template <class Fields, int kAxes>
void visit_fields(Fields& fields, ConvOptions<kAxes>& options) {
  fields("filters", options.filters);
  visit_window_fields(fields, options);
  fields("groups", options.groups);
  visit_kernel_fields(fields, options);
  visit_lora_fields(fields, options);
}

namespace {

std::vector<std::string> paddings(int axes) {
  if (axes == 1) return {"valid", "same", "causal"};
  return {"valid", "same"};
}

template <int kAxes>
class ConvLayer : public WithLora<ConvBase<ConvOptions<kAxes>, kAxes>> {
  using Base = WithLora<ConvBase<ConvOptions<kAxes>, kAxes>>;

 protected:
  using Base::options_;
  using Base::require;

 public:
  explicit ConvLayer(const ConvOptions<kAxes>& options)
      : Base(fmt::format("Conv{}D", kAxes), options, paddings(kAxes)) {
    require(options.filters > 0, "expected filters > 0, got {}.", options.filters);
    require(options.groups > 0, "expected groups > 0, got {}.", options.groups);
    require(options.filters % options.groups == 0,
            "expected filters that groups divides, got {} filters and {} groups.", options.filters,
            options.groups);
  }

  void build(const Shape& input_shape) override {
    const int64_t channels = this->set_channels(input_shape);
    require(channels % options_.groups == 0,
            "expected input channels that groups divides, got {} channels and {} groups.", channels,
            options_.groups);
    const Variable kernel =
        this->add_weight({.shape = this->kernel_shape(channels / options_.groups, options_.filters),
                          .initializer = options_.kernel_initializer,
                          .regularizer = options_.kernel_regularizer,
                          .constraint = options_.kernel_constraint,
                          .name = "kernel"});
    this->add_bias(options_.filters);
    this->adapt(kernel, options_.kernel_regularizer, options_.kernel_constraint,
                options_.lora_alpha);
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    Tensor input = ops::cast(x, this->compute_dtype());
    const bool causal = options_.padding == "causal";
    if (causal) {  // outputs don't depend on later steps
      const int64_t before = options_.dilation_rate[0] * (options_.kernel_size[0] - 1);
      input = ops::pad(input, {{0, 0}, {before, 0}, {0, 0}});
    }
    return this->biased_and_activated(
        ops::conv(input, this->adapted(),
                  {.strides = options_.strides.values(),
                   .padding = causal ? "valid" : options_.padding,
                   .dilation_rate = options_.dilation_rate.values()}));
  }
};

}  // namespace

template <int kAxes>
Conv<kAxes>::Conv(const ConvOptions<kAxes>& options)
    : LayerHandle(std::make_shared<InDataFormat<ConvLayer<kAxes>, kAxes>>(options)) {}

template <int kAxes>
Conv<kAxes> Conv<kAxes>::from_config(const Json& config) {
  return Conv(read_layer_options<ConvOptions<kAxes>>(config));
}

template class Conv<1>;
template class Conv<2>;
template class Conv<3>;

}  // namespace cornu::layers
