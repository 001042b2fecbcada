// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/mix_up.h"

#include "layers/preprocessing/mixing_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, MixUpOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("alpha", options.alpha);
  fields("seed", options.seed);
}

namespace {

class MixUpLayer : public MixingLayer<MixUpOptions> {
 public:
  explicit MixUpLayer(const MixUpOptions& options) : MixingLayer("MixUp", options) {
    require(options.alpha > 0, "expected alpha > 0, got {}.", options.alpha);
  }

 protected:
  Mixture draw_mixture(const Tensor& images) const override {
    const Tensor order = random::permutation(images.dim(0), {.seed = next_key()});
    return {order, random::beta({images.dim(0), 1, 1, 1}, options_.alpha, options_.alpha,
                                {.seed = next_key()})};
  }
  DType mask_dtype(DType) const override { return compute_dtype(); }
  // Masks, of classes as their channels, are mixed; an image has its boxes and the other's.
  Change mixed(const Mixture& mixture) const override {
    const DType dtype = compute_dtype();
    return {
        .images = {},
        .masks = [=](const Tensor& masks) { return mix_images(ops::cast(masks, dtype), mixture); },
        .boxes = [=](const BoundingBoxes& given) -> BoundingBoxes {
          const auto both = [&](const Tensor& x) {
            return ops::concatenate({x, ops::take(x, mixture.order, 0)}, 1);
          };
          return {both(given.boxes), both(given.labels)};
        },
    };
  }
};

}  // namespace

MixUp::MixUp(const MixUpOptions& options) : LayerHandle(std::make_shared<MixUpLayer>(options)) {}

MixUp MixUp::from_config(const Json& config) {
  return MixUp(read_layer_options<MixUpOptions>(config));
}

}  // namespace cornu::layers
