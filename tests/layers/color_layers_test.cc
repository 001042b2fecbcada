// SPDX-License-Identifier: Apache-2.0
// Layers that change the colors of images: their random values, and their errors.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <set>

#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/layers/picture_cases.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::colors;
using test::error_of;
using test::PictureCase;

namespace {

const std::vector<PictureCase>& color_cases() {
  using namespace layers;  // NOLINT
  static const std::vector<PictureCase> cases = {
      test::drawing<RandomHue>("RandomHue", RandomHueOptions{.factor = 1.0}),
      test::drawing<RandomSaturation>("RandomSaturation",
                                      RandomSaturationOptions{.factor = {0.1, 0.4}}),
      test::drawing<RandomColorDegeneration>("RandomColorDegeneration",
                                             RandomColorDegenerationOptions{.factor = {0.1, 1.0}}),
      test::drawing<RandomSharpness>("RandomSharpness", RandomSharpnessOptions{.factor = 0.4}),
      test::drawing<RandomGrayscale>("RandomGrayscale", RandomGrayscaleOptions{}, 2),
      test::drawing<RandomInvert>("RandomInvert", RandomInvertOptions{.factor = {0.5, 0.5}}, 2),
      test::drawing<RandomPosterization>("RandomPosterization",
                                         RandomPosterizationOptions{.factor = {1.0, 7.0}}, 3),
      test::drawing<Solarization>(
          "Solarization", SolarizationOptions{.addition_factor = 0.5, .threshold_factor = 1.0}),
      test::fixed<AutoContrast>("AutoContrast", AutoContrastOptions{.value_range = {-1.0, 1.0}}),
      test::fixed<Equalization>("Equalization", EqualizationOptions{}, true),
  };
  return cases;
}

}  // namespace

TEST_CASE("layers of colors do what layers of pictures must") {
  for (PictureCase item : color_cases()) {
    item.differentiable = item.name != "RandomPosterization";
    test::check_pictures(item);
  }
}

TEST_CASE("pictures become gray, or are inverted, as often as factor says") {
  const Tensor x = ops::tile(colors(1), {1000, 1, 1, 1});
  const auto changed = [&](const Tensor& y) {
    return ops::sum(ops::cast(ops::any(ops::not_equal(y, x), {1, 2, 3}), DType::Float32))
        .item<double>();
  };
  const double gray = changed(layers::RandomGrayscale({.factor = 0.3, .seed = 1})(x));
  CHECK(std::abs(gray - 300) < 75);  // five standard deviations
  // The probability itself is drawn, between 0 and 0.5.
  const double inverted = changed(layers::RandomInvert({.factor = 0.5, .seed = 1})(x));
  CHECK(std::abs(inverted - 250) < 75);
}

TEST_CASE("what is drawn for colors lies within bounds, and all over them") {
  const Tensor one = Tensor::from<float>({200, 0, 0}, {1, 1, 1, 3});
  const Tensor x = ops::tile(one, {2000, 1, 1, 1});
  // At most halfway to the gray value of 0.2989 * 200; at least unchanged.
  const double gray = 0.2989 * 200;
  const Tensor paler = layers::RandomColorDegeneration({.factor = {0.0, 0.5}, .seed = 1})(x);
  const Tensor red = ops::slice_axis(paler, 3, 0, 1);
  CHECK(ops::max(red).item<double>() == doctest::Approx(200).epsilon(0.01));
  CHECK(ops::min(red).item<double>() == doctest::Approx((200 + gray) / 2).epsilon(0.01));
  // Hues within a quarter of half a circle on both sides of red: green or blue, up to 3 / 4.
  const Tensor turned = layers::RandomHue({.factor = 0.25, .seed = 1})(x);
  for (const int64_t channel : {1, 2}) {
    const Tensor part = ops::slice_axis(turned, 3, channel, channel + 1);
    CHECK(ops::max(part).item<double>() == doctest::Approx(150).epsilon(0.02));
    CHECK(ops::max(part).item<double>() <= 150.001);
    const double without = ops::mean(ops::cast(part == 0, DType::Float32)).item<double>();
    CHECK(std::abs(without - 0.5) < 0.06);
  }
  // 1 to 3 bits of 255: results are 128, 192 or 224; the upper bound is exclusive.
  const Tensor white = ops::full({300, 1, 1, 1}, 255.0f);
  const Tensor bits = layers::RandomPosterization({.factor = {1.0, 4.0}, .seed = 2})(white);
  const std::vector<float> list = bits.to_vector<float>();
  CHECK(std::set<float>(list.begin(), list.end()) == std::set<float>{128, 192, 224});
}

TEST_CASE("what layers of colors refuse") {
  using namespace layers;  // NOLINT
  const std::vector<std::pair<std::function<void()>, const char*>> cases = {
      {[] { RandomHue({.name = "l"}); },
       "RandomHue 'l': expected factor to be a number in [0, 1], or two of them, got null."},
      {[] { RandomHue({.factor = -0.1, .name = "l"}); },
       "RandomHue 'l': expected factor to be a number in [0, 1], or two of them, got -0.1."},
      {[] {
         RandomHue({.factor = 0.1, .value_range = {1.0, 1.0}, .name = "l"});
       },
       "RandomHue 'l': expected value_range to be two different numbers, got [1.0, 1.0]."},
      {[] {
         RandomHue({.factor = 0.1, .name = "l"})(ops::zeros({2, 3, 3, 1}));
       },
       "RandomHue 'l': expected images of red, green and blue, got (2, 3, 3, 1)."},
      {[] {
         RandomSaturation({.factor = 0.1, .data_format = "channels_first", .name = "l"})(
             ops::zeros({4, 3, 3}));
       },
       "RandomSaturation 'l': expected images of red, green and blue, got (4, 3, 3)."},
      {[] {
         RandomGrayscale({.name = "l"})(ops::zeros({2, 3, 3, 4}));
       },
       "RandomGrayscale 'l': expected images of red, green and blue, got (2, 3, 3, 4)."},
      {[] { RandomGrayscale({.factor = 1.5, .name = "l"}); },
       "RandomGrayscale 'l': expected factor in [0, 1], got 1.5."},
      {[] { RandomColorDegeneration({.factor = 2.0, .name = "l"}); },
       "RandomColorDegeneration 'l': expected factor to be a number in [-1, 1], or two of them, "
       "got 2.0."},
      {[] { RandomPosterization({.factor = 0.5, .name = "l"}); },
       "RandomPosterization 'l': expected factor to be a number in [1, 8], or two of them, got "
       "0.5."},
      {[] {
         RandomPosterization({.factor = {1.5, 3.0}, .name = "l"});
       },
       "RandomPosterization 'l': expected factor to be whole numbers of bits, got 1.5 and 3."},
      {[] { Solarization({.threshold_factor = -1.0, .name = "l"}); },
       "Solarization 'l': expected threshold_factor to be a number in [0, 1], or two of them, got "
       "-1.0."},
      {[] { Equalization({.bins = 1, .name = "l"}); },
       "Equalization 'l': expected bins in [2, 65536], got 1."},
      {[] {
         AutoContrast({.name = "l"})(ops::zeros({4, 4}));
       },
       "AutoContrast 'l': expected an image (height, width, channels) or a batch of them, got (4, "
       "4)."},
  };
  for (const auto& [make, text] : cases) {
    CHECK(error_of(make) == std::string("InvalidArgument: ") + text);
  }
}
