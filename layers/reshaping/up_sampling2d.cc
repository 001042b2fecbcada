// SPDX-License-Identifier: Apache-2.0
#include "layers/reshaping/up_sampling2d.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/spatial.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, UpSampling2DOptions& options) {
  fields("size", options.size);
  fields("data_format", options.data_format);
  fields("interpolation", options.interpolation);
}

namespace {

class UpSampling2DLayer : public KerasLayerOf<UpSampling2DOptions> {
 public:
  explicit UpSampling2DLayer(const UpSampling2DOptions& options)
      : KerasLayerOf("UpSampling2D", options) {
    options_.data_format = check_data_format(label(), options.data_format);
    require_positive(label(), "size", options.size.values());
    require(options.interpolation == "nearest", "expected interpolation \"nearest\", got \"{}\".",
            options.interpolation);
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return ops::repeat(ops::repeat(x, options_.size[0], 1), options_.size[1], 2);
  }

 protected:
  void check_input(const Shape& shape) const override { require_spatial(label(), shape, 2); }
};

}  // namespace

UpSampling2D::UpSampling2D(const UpSampling2DOptions& options)
    : LayerHandle(std::make_shared<UpSampling2DLayer>(options)) {}

UpSampling2D UpSampling2D::from_config(const Json& config) {
  return UpSampling2D(read_layer_options<UpSampling2DOptions>(config));
}

}  // namespace cornu::layers
