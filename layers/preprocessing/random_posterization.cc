// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_posterization.h"

#include <algorithm>
#include <cmath>

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomPosterizationOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomPosterizationLayer : public RandomImageLayer<RandomPosterizationOptions> {
 public:
  explicit RandomPosterizationLayer(const RandomPosterizationOptions& options)
      : RandomImageLayer("RandomPosterization", options),
        bounds_(bounds_of("factor", options.factor, 1, 8)) {
    require(
        bounds_.lower == std::floor(bounds_.lower) && bounds_.upper == std::floor(bounds_.upper),
        "expected factor to be whole numbers of bits, got {} and {}.", bounds_.lower,
        bounds_.upper);
    options_.factor = {bounds_.lower, bounds_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    const auto lower = static_cast<int64_t>(bounds_.lower);
    const auto upper = std::max(static_cast<int64_t>(bounds_.upper), lower + 1);
    const Tensor bits =
        random::randint({images.dim(0), 1, 1, 1}, lower, upper, {.seed = next_key()});
    return posterize(images, bits, range_);
  }

 private:
  Bounds bounds_;
  Bounds range_;
};

}  // namespace

RandomPosterization::RandomPosterization(const RandomPosterizationOptions& options)
    : LayerHandle(std::make_shared<RandomPosterizationLayer>(options)) {}

RandomPosterization RandomPosterization::from_config(const Json& config) {
  return RandomPosterization(read_layer_options<RandomPosterizationOptions>(config));
}

}  // namespace cornu::layers
