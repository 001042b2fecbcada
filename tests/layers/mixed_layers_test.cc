// SPDX-License-Identifier: Apache-2.0
// Layers that change images in several ways: their random values, and their errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/layers/picture_cases.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;
using test::PictureCase;

TEST_CASE("layers of several changes do what layers of pictures must") {
  using namespace layers;  // NOLINT
  const std::vector<PictureCase> cases = {
      test::drawing<RandomColorJitter>("RandomColorJitter",
                                       RandomColorJitterOptions{.brightness_factor = 0.2,
                                                                .contrast_factor = 0.3,
                                                                .saturation_factor = {0.2, 0.6},
                                                                .hue_factor = 0.4}),
      test::drawing<RandAugment>("RandAugment", RandAugmentOptions{.num_ops = 5}, 1),
      test::drawing<AugMix>("AugMix", AugMixOptions{.factor = {0.2, 0.6}}, 1),
  };
  for (PictureCase item : cases) {
    // Changes of bits and positions jump when float32 and float64 differ slightly.
    const bool jumps = item.name != "RandomColorJitter";
    item.differentiable = false;
    test::check_pictures(item, !jumps);
  }
}

TEST_CASE("RandAugment's changes are drawn anew with each call, all of them") {
  const Tensor x = ops::cast(test::colors(1), DType::Float32);
  const layers::RandAugment one({.num_ops = 1, .factor = {0.4, 0.4}, .seed = 1});
  std::set<std::vector<float>> kinds;
  for (int i = 0; i < 200; ++i) kinds.insert(one(x).to_vector<float>());
  using namespace layers;  // NOLINT
  const std::vector<LayerHandle> expected = {
      RandomTranslation({.height_factor = {0.4, 0.4}, .width_factor = {0.4, 0.4}}),
      RandomRotation({.factor = {0.4, 0.4}}),
      RandomPosterization({.factor = {1.0, 1.0}}),
      RandomPosterization({.factor = {2.0, 2.0}}),
      AutoContrast(),
      Equalization(),
      RandomBrightness({.factor = {0.4, 0.4}}),
      RandomColorDegeneration({.factor = {0.4, 0.4}}),
      RandomSharpness({.factor = {0.4, 0.4}}),
  };
  for (const LayerHandle& layer : expected) {
    CAPTURE(layer.name());
    const Tensor y = layer(x);
    CHECK(std::any_of(kinds.begin(), kinds.end(), [&](const std::vector<float>& kind) {
      return test::distance(Tensor::from(kind, x.shape()), y) < 1e-2;
    }));
  }
  CHECK(test::distance(layers::RandAugment({.num_ops = 0})(x), x) == 0);
}

TEST_CASE(
    "AugMix stays within the range of values, and a chain of none mixes a picture with itself") {
  const Tensor x = ops::cast(test::colors(3), DType::Float32);
  const layers::AugMix mix({.factor = 1.0, .seed = 1});
  for (int i = 0; i < 20; ++i) {
    const Tensor y = mix(x);
    CHECK(ops::min(y).item<double>() >= 0);
    CHECK(ops::max(y).item<double>() <= 255);
  }
  CHECK(test::distance(layers::AugMix({.chain_depth = 0, .seed = 1})(x), x) < 1e-3);
}

TEST_CASE("a jitter of one kind is that layer, and of none changes nothing") {
  const Tensor x = ops::cast(test::colors(4), DType::Float32);
  CHECK(test::distance(layers::RandomColorJitter()(x), x) == 0);
  CHECK(test::distance(layers::RandomColorJitter({.hue_factor = 0.6, .seed = 3})(x),
                       layers::RandomHue({.factor = 0.6, .seed = 3})(x)) == 0);
  CHECK(test::distance(layers::RandomColorJitter({.saturation_factor = 0.6, .seed = 3})(x),
                       layers::RandomSaturation({.factor = 0.6, .seed = 3})(x)) == 0);
  CHECK(test::distance(layers::RandomColorJitter({.contrast_factor = 0.6, .seed = 3})(x),
                       layers::RandomContrast({.factor = 0.6, .seed = 3})(x)) == 0);
  CHECK(test::distance(layers::RandomColorJitter({.brightness_factor = 0.6, .seed = 3})(x),
                       layers::RandomBrightness({.factor = 0.6, .seed = 3})(x)) == 0);
}

TEST_CASE("pictures of a batch and their labels are mixed in the same proportions") {
  // All pixels of image i are i, and its label is one-hot, so the mean pixel equals the expected
  // value of the label.
  const Tensor numbers = ops::arange(0, 8, 1, DType::Float32);
  const Tensor x = ops::tile(ops::reshape(numbers, {8, 1, 1, 1}), {1, 30, 40, 1});
  const Tensor labels = ops::one_hot(ops::cast(numbers, DType::Int32), 8);
  const std::vector<LayerHandle> mixing = {layers::MixUp({.alpha = 2.0, .seed = 1}),
                                           layers::CutMix({.factor = {1.0, 1.0}, .seed = 1})};
  for (const LayerHandle& layer : mixing) {
    CAPTURE(layer.name());
    const Tensors both = layer(Tensors(std::vector<Tensor>{x, labels}));
    REQUIRE(both.size() == 2);
    CHECK(test::distance(both[0], x) > 0.1);
    CHECK(test::distance(ops::sum(both[1], 1), ops::ones({8})) < 1e-5);
    const Tensor from_labels = ops::sum(both[1] * numbers, 1);
    // A rectangle's edges are rounded to pixels.
    const double near = layer.get().class_name() == "MixUp" ? 1e-4 : 0.5;
    CHECK(test::distance(ops::mean(both[0], {1, 2, 3}), from_labels) < near);
    CHECK(test::distance(layer(x, {.training = false}), x) == 0);
    const Tensor alone = layer(ops::squeeze(x.rows(3, 4), 0));
    CHECK(test::distance(alone, ops::squeeze(x.rows(3, 4), 0)) < 1e-5);
  }
}

TEST_CASE("what layers of several changes refuse") {
  using namespace layers;  // NOLINT
  const std::vector<std::pair<std::function<void()>, const char*>> cases = {
      {[] { RandAugment({.num_ops = -1, .name = "l"}); },
       "RandAugment 'l': expected num_ops in [0, 100], got -1."},
      {[] { RandAugment({.factor = 2.0, .name = "l"}); },
       "RandAugment 'l': expected factor to be a number in [0, 1], or two of them, got 2.0."},
      {[] {
         RandAugment({.name = "l"})(ops::zeros({2, 3, 3, 2}));
       },
       "RandAugment 'l': expected images of red, green and blue, got (2, 3, 3, 2)."},
      {[] { MixUp({.alpha = 0.0, .name = "l"}); }, "MixUp 'l': expected alpha > 0, got 0."},
      {[] {
         MixUp({.name = "l"})(
             Tensors(std::vector<Tensor>{ops::zeros({2, 3, 3, 3}), ops::zeros({3, 2})}));
       },
       "MixUp 'l': expected a batch of images and as many labels, got (2, 3, 3, 3) and (3, 2)."},
      {[] { AugMix({.num_chains = 0, .name = "l"}); },
       "AugMix 'l': expected num_chains in [1, 100] and chain_depth in [0, 100], got 0 and 3."},
      {[] { AugMix({.alpha = 0.0, .name = "l"}); }, "AugMix 'l': expected alpha > 0, got 0."},
      {[] { AugMix({.interpolation = "cubic", .name = "l"}); },
       "AugMix 'l': unknown interpolation 'cubic'. Known: nearest, bilinear."},
      {[] { RandomColorJitter({.contrast_factor = -0.5, .name = "l"}); },
       "RandomColorJitter 'l': expected contrast_factor to be a number in [0, 1], or two of them, "
       "got -0.5."},
      {[] {
         RandomColorJitter({.hue_factor = 0.5, .name = "l"})(ops::zeros({2, 3, 3, 1}));
       },
       "RandomColorJitter 'l': expected images of red, green and blue, got (2, 3, 3, 1)."},
  };
  for (const auto& [make, text] : cases) {
    CHECK(error_of(make) == std::string("InvalidArgument: ") + text);
  }
}
