// SPDX-License-Identifier: Apache-2.0
#include "layers/regularization/alpha_dropout.h"

#include <cmath>

#include "layers/regularization/random_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, AlphaDropoutOptions& options) {
  fields("rate", options.rate);
  fields("seed", options.seed);
  fields("noise_shape", options.noise_shape);
}

namespace {

class AlphaDropoutLayer : public RandomLayer<AlphaDropoutOptions> {
 public:
  explicit AlphaDropoutLayer(const AlphaDropoutOptions& options)
      : RandomLayer("AlphaDropout", options, options.rate > 0) {
    require(options.rate >= 0 && options.rate < 1, "expected a rate in [0, 1), got {}.",
            options.rate);
    require_noise_shape(options.noise_shape);
  }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (!draws(args)) return x;
    // The limit of selu at -infinity: -alpha * scale.
    constexpr double kLimit =
        -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946;
    const double rate = options_.rate;
    const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * kLimit * kLimit));
    const Tensor kept =
        ops::greater(random::dropout(ops::ones_like(x), rate,
                                     {.noise_shape = options_.noise_shape, .seed = next_key()}),
                     0.0);
    return ops::where(kept, x, kLimit) * scale - scale * kLimit * rate;
  }

 protected:
  void check_input(const Shape& shape) const override {
    require_rank_of(options_.noise_shape, shape);
  }
};

}  // namespace

AlphaDropout::AlphaDropout(const AlphaDropoutOptions& options)
    : LayerHandle(std::make_shared<AlphaDropoutLayer>(options)) {}

AlphaDropout AlphaDropout::from_config(const Json& config) {
  return AlphaDropout(read_layer_options<AlphaDropoutOptions>(config));
}

}  // namespace cornu::layers
