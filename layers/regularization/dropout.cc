// SPDX-License-Identifier: Apache-2.0
#include "layers/regularization/dropout.h"

#include "layers/regularization/dropout_key.h"
#include "layers/regularization/random_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, DropoutOptions& options) {
  fields("rate", options.rate);
  fields("seed", options.seed);
  fields("noise_shape", options.noise_shape);
}

namespace {

class DropoutLayer : public RandomLayer<DropoutOptions> {
 public:
  explicit DropoutLayer(const DropoutOptions& options)
      : RandomLayer("Dropout", options, options.rate > 0) {
    require_rate(options.rate);
    require_noise_shape(options.noise_shape);
  }
  using RandomLayer::next_key;

  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (!draws(args)) return x;
    return random::dropout(x, options_.rate,
                           {.noise_shape = options_.noise_shape, .seed = next_key()});
  }

 protected:
  void check_input(const Shape& shape) const override {
    require_rank_of(options_.noise_shape, shape);
  }
};

}  // namespace

Dropout::Dropout(const DropoutOptions& options)
    : LayerHandle(std::make_shared<DropoutLayer>(options)) {}

Tensor next_dropout_key(const LayerHandle& dropout) {
  return dynamic_cast<const DropoutLayer&>(dropout.get()).next_key();
}

Dropout Dropout::from_config(const Json& config) {
  return Dropout(read_layer_options<DropoutOptions>(config));
}

}  // namespace cornu::layers
