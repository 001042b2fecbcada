// SPDX-License-Identifier: Apache-2.0
#include "layers/regularization/stochastic_depth.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, StochasticDepthOptions& options) {
  fields("drop_path_rate", options.drop_path_rate);
}

namespace {

class StochasticDepthLayer : public KerasLayerOf<StochasticDepthOptions> {
 public:
  explicit StochasticDepthLayer(const StochasticDepthOptions& options)
      : KerasLayerOf("StochasticDepth", options) {
    require(options.drop_path_rate >= 0 && options.drop_path_rate < 1,
            "expected a drop_path_rate in [0, 1), got {}.", options.drop_path_rate);
  }
  Json module() const override { return "keras.src.applications.convnext"; }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (!args.training) return x;
    const double kept = 1 - options_.drop_path_rate;
    Shape examples = {x.dim(0)};
    for (int64_t axis = 1; axis < x.rank(); ++axis) examples.push_back(1);
    const Tensor ones = ops::floor(kept + random::uniform(examples));
    return x / kept * ops::cast(ones, x.dtype());
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(shape.rank() >= 1, "expected an input of 1 axis or more, got {}.", shape);
  }
};

}  // namespace

StochasticDepth::StochasticDepth(const StochasticDepthOptions& options)
    : LayerHandle(std::make_shared<StochasticDepthLayer>(options)) {}

StochasticDepth StochasticDepth::from_config(const Json& config) {
  return StochasticDepth(read_layer_options<StochasticDepthOptions>(config));
}

}  // namespace cornu::layers
