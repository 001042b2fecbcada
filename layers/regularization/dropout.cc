// SPDX-License-Identifier: Apache-2.0
#include "layers/regularization/dropout.h"

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
    if (!options.noise_shape) return;
    for (const int64_t size : *options.noise_shape) {
      require(size > 0 || size == kUnknown, "expected noise_shape of axes > 0 or None, got {}.",
              *options.noise_shape);
    }
  }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (!draws(args)) return x;
    return random::dropout(x, options_.rate,
                           {.noise_shape = options_.noise_shape, .seed = next_key()});
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(!options_.noise_shape || options_.noise_shape->rank() == shape.rank(),
            "expected an input of as many axes as noise_shape {}, got {}.",
            options_.noise_shape.value_or(Shape()), shape);
  }
};

}  // namespace

Dropout::Dropout(const DropoutOptions& options)
    : LayerHandle(std::make_shared<DropoutLayer>(options)) {}

Dropout Dropout::from_config(const Json& config) {
  return Dropout(read_layer_options<DropoutOptions>(config));
}

}  // namespace cornu::layers
