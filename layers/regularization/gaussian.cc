// SPDX-License-Identifier: Apache-2.0
#include "layers/regularization/gaussian.h"

#include <cmath>

#include "layers/regularization/random_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, GaussianNoiseOptions& options) {
  fields("stddev", options.stddev);
  fields("seed", options.seed);
}

template <class Fields>
void visit_fields(Fields& fields, GaussianDropoutOptions& options) {
  fields("rate", options.rate);
  fields("seed", options.seed);
}

namespace {

class GaussianNoiseLayer : public RandomLayer<GaussianNoiseOptions> {
 public:
  explicit GaussianNoiseLayer(const GaussianNoiseOptions& options)
      : RandomLayer("GaussianNoise", options, options.stddev > 0) {
    require(options.stddev >= 0 && options.stddev <= 1, "expected stddev in [0, 1], got {}.",
            options.stddev);
  }
  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (!draws(args)) return x;
    return ops::add(x, random::normal(x.shape(), {.stddev = options_.stddev,
                                                  .dtype = compute_dtype(),
                                                  .seed = next_key()}));
  }
};

class GaussianDropoutLayer : public RandomLayer<GaussianDropoutOptions> {
 public:
  explicit GaussianDropoutLayer(const GaussianDropoutOptions& options)
      : RandomLayer("GaussianDropout", options, options.rate > 0) {
    require(options.rate >= 0 && options.rate < 1, "expected a rate in [0, 1), got {}.",
            options.rate);
  }
  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (!draws(args)) return x;
    return ops::multiply(
        x, random::normal(x.shape(), {.mean = 1.0,
                                      .stddev = std::sqrt(options_.rate / (1.0 - options_.rate)),
                                      .dtype = compute_dtype(),
                                      .seed = next_key()}));
  }
};

}  // namespace

GaussianNoise::GaussianNoise(const GaussianNoiseOptions& options)
    : LayerHandle(std::make_shared<GaussianNoiseLayer>(options)) {}

GaussianNoise GaussianNoise::from_config(const Json& config) {
  return GaussianNoise(read_layer_options<GaussianNoiseOptions>(config));
}

GaussianDropout::GaussianDropout(const GaussianDropoutOptions& options)
    : LayerHandle(std::make_shared<GaussianDropoutLayer>(options)) {}

GaussianDropout GaussianDropout::from_config(const Json& config) {
  return GaussianDropout(read_layer_options<GaussianDropoutOptions>(config));
}

}  // namespace cornu::layers
