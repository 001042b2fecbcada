// SPDX-License-Identifier: Apache-2.0
#include "layers/reshaping/repeat_vector.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RepeatVectorOptions& options) {
  fields("n", options.n);
}

namespace {

class RepeatVectorLayer : public KerasLayerOf<RepeatVectorOptions> {
 public:
  explicit RepeatVectorLayer(const RepeatVectorOptions& options)
      : KerasLayerOf("RepeatVector", options) {
    require(options.n > 0, "expected n > 0, got {}.", options.n);
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return ops::broadcast_to(ops::expand_dims(x, 1), {x.shape()[0], options_.n, x.shape()[1]});
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(shape.rank() == 2, "expected 2-D input (batch, features), got {}.", shape);
  }
};

}  // namespace

RepeatVector::RepeatVector(const RepeatVectorOptions& options)
    : LayerHandle(std::make_shared<RepeatVectorLayer>(options)) {}

RepeatVector RepeatVector::from_config(const Json& config) {
  return RepeatVector(read_layer_options<RepeatVectorOptions>(config));
}

}  // namespace cornu::layers
