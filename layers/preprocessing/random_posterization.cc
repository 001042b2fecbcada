// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_posterization.h"

#include <algorithm>
#include <cmath>

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomPosterizationOptions& options) {
  visit_factor_fields(fields, options);
}

namespace {

class RandomPosterizationLayer : public RandomFactorLayer<RandomPosterizationOptions> {
 public:
  explicit RandomPosterizationLayer(const RandomPosterizationOptions& options)
      : RandomFactorLayer("RandomPosterization", options, 1, 8) {
    require(factor().lower == std::floor(factor().lower) &&
                factor().upper == std::floor(factor().upper),
            "expected factor to be whole numbers of bits, got {} and {}.", factor().lower,
            factor().upper);
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    const auto lower = static_cast<int64_t>(factor().lower);
    const auto upper = std::max(static_cast<int64_t>(factor().upper), lower + 1);
    const Tensor bits =
        random::randint({images.dim(0), 1, 1, 1}, lower, upper, {.seed = next_key()});
    return posterize(images, bits, range());
  }
};

}  // namespace

RandomPosterization::RandomPosterization(const RandomPosterizationOptions& options)
    : LayerHandle(std::make_shared<RandomPosterizationLayer>(options)) {}

RandomPosterization RandomPosterization::from_config(const Json& config) {
  return RandomPosterization(read_layer_options<RandomPosterizationOptions>(config));
}

}  // namespace cornu::layers
