// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/cut_mix.h"

#include "layers/preprocessing/mixing_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, CutMixOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("seed", options.seed);
}

namespace {

class CutMixLayer : public MixingLayer<CutMixOptions> {
 public:
  explicit CutMixLayer(const CutMixOptions& options)
      : MixingLayer("CutMix", options), bounds_(bounds_of("factor", options.factor, 0, 1)) {
    options_.factor = {bounds_.lower, bounds_.upper};
  }

 protected:
  Mixture draw_mixture(const Tensor& images) const override {
    const Bounds& bounds = bounds_;
    const Tensor drawn = ops::internal::shared_uniform(next_key(), {});
    const Tensor alpha = drawn * (bounds.upper - bounds.lower) + (bounds.lower + 1e-6);
    const Tensor stays = random::beta({images.dim(0), 1, 1, 1}, alpha, alpha, {.seed = next_key()});
    const Tensor side = ops::sqrt(1 - stays);
    const Tensor top = draw(images, {0, 1});
    const Tensor left = draw(images, {0, 1});
    const Tensor order = random::permutation(images.dim(0), {.seed = next_key()});
    return {order, 1 - ops::square(side), inside({top, left, side, side}, images)};
  }
  Change mixed(const Mixture& mixture) const override {
    return {
        .images = {},
        .masks = [=](const Tensor& masks) { return mix_images(masks, mixture); },
        .boxes = [this](const BoundingBoxes&) -> BoundingBoxes {
          raise<Unimplemented>(
              "{}: boxes of images with parts of others aren't defined. Remove '{}' from the "
              "dictionary.",
              label(), kBoxes);
        },
    };
  }

 private:
  Bounds bounds_;
};

}  // namespace

CutMix::CutMix(const CutMixOptions& options)
    : LayerHandle(std::make_shared<CutMixLayer>(options)) {}

CutMix CutMix::from_config(const Json& config) {
  return CutMix(read_layer_options<CutMixOptions>(config));
}

}  // namespace cornu::layers
