// SPDX-License-Identifier: Apache-2.0
#include "layers/reshaping/flatten.h"

#include "framework/ops/ops.h"
#include "layers/data_format.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, FlattenOptions& options) {
  fields("data_format", options.data_format);
}

namespace {

class FlattenLayer : public KerasLayerOf<FlattenOptions> {
 public:
  explicit FlattenLayer(const FlattenOptions& options) : KerasLayerOf("Flatten", options) {
    options_.data_format = check_data_format(label(), options.data_format);
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return ops::reshape(x, {x.shape()[0], x.shape().slice(1).num_elements()});
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(shape.rank() >= 1, "expected input (batch, …), got a scalar.");
  }
};

}  // namespace

Flatten::Flatten(const FlattenOptions& options)
    : LayerHandle(std::make_shared<InDataFormat<FlattenLayer, 0>>(options)) {}

Flatten Flatten::from_config(const Json& config) {
  return Flatten(read_layer_options<FlattenOptions>(config));
}

}  // namespace cornu::layers
