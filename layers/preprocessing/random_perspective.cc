// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_perspective.h"

#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomPerspectiveOptions& options) {
  fields("data_format", options.data_format);
  fields("factor", options.factor);
  fields("scale", options.scale);
  fields("interpolation", options.interpolation);
  fields("fill_value", options.fill_value);
  fields("seed", options.seed);
}

namespace {

class RandomPerspectiveLayer : public RandomImageLayer<RandomPerspectiveOptions> {
 public:
  explicit RandomPerspectiveLayer(const RandomPerspectiveOptions& options)
      : RandomImageLayer("RandomPerspective", options),
        bounds_(bounds_of("factor", options.factor, 0, 1)) {
    require(options.scale >= 0 && options.scale <= 1, "expected scale in [0, 1], got {}.",
            options.scale);
    require_one_of("interpolation", options.interpolation, {"nearest", "bilinear"});
    options_.factor = {bounds_.lower, bounds_.upper};
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    const Tensor moved = chance(images, bounds_);
    const auto right = static_cast<float>(images.dim(2) - 1);
    const auto bottom = static_cast<float>(images.dim(1) - 1);
    const Tensor corners = ops::broadcast_to(
        Tensor::from<float>({0, 0, right, 0, 0, bottom, right, bottom}, {1, 4, 2}),
        {images.dim(0), 4, 2});
    const double most = options_.scale / 2;
    const Tensor moves = random::uniform({images.dim(0), 4, 2},
                                         {.minval = -most, .maxval = most, .seed = next_key()});
    const Tensor seen = ops::image::perspective_transform(
        images, corners, corners + corners * moves,
        {.interpolation = options_.interpolation, .fill_value = options_.fill_value});
    return ops::where(moved, seen, images);
  }

 private:
  Bounds bounds_;
};

}  // namespace

RandomPerspective::RandomPerspective(const RandomPerspectiveOptions& options)
    : LayerHandle(std::make_shared<RandomPerspectiveLayer>(options)) {}

RandomPerspective RandomPerspective::from_config(const Json& config) {
  return RandomPerspective(read_layer_options<RandomPerspectiveOptions>(config));
}

}  // namespace cornu::layers
