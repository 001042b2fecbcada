// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/solarization.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, SolarizationOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("value_range", options.value_range);
  fields("addition_factor", options.addition_factor);
  fields("threshold_factor", options.threshold_factor);
  fields("seed", options.seed);
}

namespace {

class SolarizationLayer : public RandomImageLayer<SolarizationOptions> {
 public:
  explicit SolarizationLayer(const SolarizationOptions& options)
      : RandomImageLayer("Solarization", options),
        additions_(bounds_of("addition_factor", options.addition_factor, 0, 1)),
        thresholds_(bounds_of("threshold_factor", options.threshold_factor, 0, 1)) {
    options_.addition_factor = {additions_.lower, additions_.upper};
    options_.threshold_factor = {thresholds_.lower, thresholds_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    const Tensor addition = draw(images, {additions_.lower, 255 * additions_.upper});
    const Tensor threshold = draw(images, {thresholds_.lower, 255 * thresholds_.upper});
    return solarize(images, addition, threshold, range_);
  }

 private:
  Bounds additions_;
  Bounds thresholds_;
  Bounds range_;
};

}  // namespace

Solarization::Solarization(const SolarizationOptions& options)
    : LayerHandle(std::make_shared<SolarizationLayer>(options)) {}

Solarization Solarization::from_config(const Json& config) {
  return Solarization(read_layer_options<SolarizationOptions>(config));
}

}  // namespace cornu::layers
