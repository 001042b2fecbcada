// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/aug_mix.h"

#include "layers/preprocessing/image_augmentations.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, AugMixOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("value_range", options.value_range);
  fields("num_chains", options.num_chains);
  fields("chain_depth", options.chain_depth);
  fields("factor", options.factor);
  fields("alpha", options.alpha);
  fields("all_ops", options.all_ops);
  fields("interpolation", options.interpolation);
  fields("seed", options.seed);
}

namespace {

class AugMixLayer : public RandomImageLayer<AugMixOptions> {
 public:
  explicit AugMixLayer(const AugMixOptions& options) : RandomImageLayer("AugMix", options) {
    settings_.factor = bounds_of("factor", options.factor, 0, 1);
    settings_.range = checked_range(options_.value_range);
    settings_.interpolation = options.interpolation;
    options_.factor = {settings_.factor.lower, settings_.factor.upper};
    require(options.num_chains > 0 && options.num_chains <= kMaxChains &&
                options.chain_depth >= 0 && options.chain_depth <= kMaxChains,
            "expected num_chains in [1, {}] and chain_depth in [0, {}], got {} and {}.", kMaxChains,
            kMaxChains, options.num_chains, options.chain_depth);
    require(options.alpha > 0, "expected alpha > 0, got {}.", options.alpha);
    require_one_of("interpolation", options.interpolation, {"nearest", "bilinear"});
  }

 protected:
  void check_input(const Shape& shape) const override {
    RandomImageLayer::check_input(shape);
    require_rgb(shape, true);
  }

  Tensor augmented(const Tensor& images) override {
    const auto gammas = [&](int64_t count) {
      return ops::internal::shared_gamma(next_key(), {count}, options_.alpha);
    };
    const Tensor parts = gammas(options_.num_chains);
    const Tensor weights = ops::cast(parts / ops::sum(parts), images.dtype());
    const Tensor two = gammas(2);
    const Tensor original = ops::cast(two[0] / ops::sum(two), images.dtype());
    Tensor mixed = ops::zeros_like(images);
    for (int64_t i = 0; i < options_.num_chains; ++i) mixed = mixed + chain(images) * weights[i];
    return ops::clip(original * images + (1 - original) * mixed, settings_.range.lower,
                     settings_.range.upper);
  }

 private:
  Tensor chain(const Tensor& images) const {
    const int64_t changes = options_.all_ops ? kAugmentations : kPlainAugmentations;
    Tensor result = images;
    for (int64_t i = 0; i < options_.chain_depth; ++i) {
      const Tensor choice = ops::internal::shared_uniform(next_key(), {}) * (changes + 1);
      const Tensor which = ops::cast(choice, DType::Int32);
      const Tensor numbers =
          random::uniform({images.dim(0), 1, 1, kAugmentationNumbers}, {.seed = next_key()});
      // The last choice is the identity.
      result = augment(result, ops::where(which == changes, -1, which), numbers, settings_);
    }
    return result;
  }

  static constexpr int64_t kMaxChains = 100;
  AugmentationSettings settings_;
};

}  // namespace

AugMix::AugMix(const AugMixOptions& options)
    : LayerHandle(std::make_shared<AugMixLayer>(options)) {}

AugMix AugMix::from_config(const Json& config) {
  return AugMix(read_layer_options<AugMixOptions>(config));
}

}  // namespace cornu::layers
