// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_gaussian_blur.h"

#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomGaussianBlurOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("kernel_size", options.kernel_size);
  fields("sigma", options.sigma);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomGaussianBlurLayer : public RandomFactorLayer<RandomGaussianBlurOptions> {
 public:
  explicit RandomGaussianBlurLayer(const RandomGaussianBlurOptions& options)
      : RandomFactorLayer("RandomGaussianBlur", options, 0, 1),
        sigma_(bounds_of("sigma", options.sigma, 0, 1)) {
    const int64_t columns = options.kernel_size[0], rows = options.kernel_size[1];
    require(rows > 0 && rows % 2 == 1 && columns > 0 && columns % 2 == 1,
            "expected kernel_size of odd numbers, got {} and {}.", columns, rows);
    options_.sigma = {sigma_.lower, sigma_.upper};
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    const Tensor blurs = chance(images, factor());
    const Tensor key = next_key();
    const Tensor drawn = ops::internal::shared_uniform(key, {2});
    const Tensor sigma = drawn * (sigma_.upper - sigma_.lower) + (sigma_.lower + 1e-6);
    const Tensor blurred = ops::image::gaussian_blur(
        images,
        {.kernel_size = {options_.kernel_size[0], options_.kernel_size[1]}, .sigma = sigma});
    return ops::clip(ops::where(blurs, blurred, images), range().lower, range().upper);
  }

 private:
  Bounds sigma_;
};

}  // namespace

RandomGaussianBlur::RandomGaussianBlur(const RandomGaussianBlurOptions& options)
    : LayerHandle(std::make_shared<RandomGaussianBlurLayer>(options)) {}

RandomGaussianBlur RandomGaussianBlur::from_config(const Json& config) {
  return RandomGaussianBlur(read_layer_options<RandomGaussianBlurOptions>(config));
}

}  // namespace cornu::layers
