// SPDX-License-Identifier: Apache-2.0
#include "layers/regularization/spatial_dropout.h"

#include "layers/data_format.h"
#include "layers/regularization/random_layer.h"
#include "layers/spatial.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, SpatialDropout1DOptions& options) {
  fields("rate", options.rate);
  fields("seed", options.seed);
  fields("name", options.name);
  fields("dtype", options.dtype);
}

template <class Fields>
void visit_fields(Fields& fields, SpatialDropoutOptions& options) {
  fields("rate", options.rate);
  fields("seed", options.seed);
  fields("name", options.name);
  fields("dtype", options.dtype);
  fields("data_format", options.data_format);
}

namespace {

template <class Options, int kAxes>
class SpatialDropoutLayer : public RandomLayer<Options> {
  using Base = RandomLayer<Options>;

 protected:
  using Base::label;
  using Base::options_;

 public:
  explicit SpatialDropoutLayer(const Options& options)
      : Base(fmt::format("SpatialDropout{}D", kAxes), options, options.rate > 0) {
    this->require_rate(options.rate);
    if constexpr (requires { options.data_format; }) {
      options_.data_format = check_data_format(label(), options.data_format);
    }
    options_.name = this->name();
    options_.dtype = this->dtype_policy().name();
  }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (!this->draws(args)) return x;
    Shape shape(std::vector<int64_t>(kAxes + 2, 1));
    shape[0] = kUnknown;
    shape[kAxes + 1] = x.shape().back();
    return random::dropout(x, options_.rate, {.noise_shape = shape, .seed = this->next_key()});
  }

  // Keras writes only these fields, and just the name of the dtype.
  Json get_config() const override {
    Json config = Json::object();
    write_options(config, options_);
    return config;
  }

 protected:
  void check_input(const Shape& shape) const override { require_spatial(label(), shape, kAxes); }
};

}  // namespace

template <class Options, int kAxes>
SpatialDropout<Options, kAxes>::SpatialDropout(const Options& options)
    : LayerHandle(
          std::make_shared<InDataFormat<SpatialDropoutLayer<Options, kAxes>, kAxes>>(options)) {}

template <class Options, int kAxes>
SpatialDropout<Options, kAxes> SpatialDropout<Options, kAxes>::from_config(const Json& config) {
  return SpatialDropout(read_layer_options<Options>(config));
}

template class SpatialDropout<SpatialDropout1DOptions, 1>;
template class SpatialDropout<SpatialDropout2DOptions, 2>;
template class SpatialDropout<SpatialDropout3DOptions, 3>;

}  // namespace cornu::layers
