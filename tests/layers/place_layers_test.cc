// SPDX-License-Identifier: Apache-2.0
// Layers that move, blur or erase pixels: their random values, their positions, and their errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/layers/picture_cases.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;
using test::PictureCase;

namespace {

const std::vector<PictureCase>& place_cases() {
  using namespace layers;  // NOLINT
  using Clahe = ContrastLimitedAdaptiveHistogramEqualization;
  static const std::vector<PictureCase> cases = {
      test::drawing<RandomShear>("RandomShear", RandomShearOptions{.x_factor = 0.4}),
      test::drawing<RandomPerspective>("RandomPerspective",
                                       RandomPerspectiveOptions{.factor = {1.0, 1.0}}),
      test::drawing<RandomErasing>("RandomErasing",
                                   RandomErasingOptions{.factor = {1.0, 1.0}, .scale = {0.3, 0.8}}),
      test::drawing<RandomGaussianBlur>("RandomGaussianBlur",
                                        RandomGaussianBlurOptions{.sigma = {0.6, 1.0}}, 2),
      test::drawing<RandomElasticTransform>("RandomElasticTransform",
                                            RandomElasticTransformOptions{.factor = {1.0, 1.0}}),
      test::fixed<Clahe>("ContrastLimitedAdaptiveHistogramEqualization",
                         ContrastLimitedAdaptiveHistogramEqualizationOptions{}),
  };
  return cases;
}

}  // namespace

TEST_CASE("layers that move pixels do what layers of pictures must") {
  for (PictureCase item : place_cases()) {
    item.differentiable = !item.name.starts_with("ContrastLimited");
    item.largest = 2;
    test::check_pictures(item);
  }
}

TEST_CASE("what is erased is a rectangle of the size that was asked for, anywhere") {
  const Tensor x = ops::ones({200, 20, 10, 1});
  const Tensor y = layers::RandomErasing(
      {.factor = {1.0, 1.0}, .scale = {0.25, 0.25}, .fill_value = 0.0, .seed = 1})(x);
  std::set<std::pair<int64_t, int64_t>> corners;
  for (int64_t i = 0; i < 200; ++i) {
    const std::vector<float> values = y.rows(i, i + 1).to_vector<float>();
    int64_t top = 20, bottom = -1, left = 10, right = -1, erased = 0;
    for (int64_t k = 0; k < 200; ++k) {
      if (values[static_cast<size_t>(k)] != 0) continue;
      ++erased;
      top = std::min(top, k / 10);
      bottom = std::max(bottom, k / 10);
      left = std::min(left, k % 10);
      right = std::max(right, k % 10);
    }
    REQUIRE(erased == 50);  // half the height times half the width
    CHECK(bottom - top == 9);
    CHECK(right - left == 4);
    corners.emplace(top, left);
  }
  CHECK(corners.size() > 40);  // of 11 * 6 positions, which are about equally likely
}

TEST_CASE("erasing fills with noise within the range of values") {
  const Tensor x = ops::full({50, 8, 8, 3}, 77.0f);
  const Tensor y = layers::RandomErasing({.factor = {1.0, 1.0}, .scale = {1.0, 1.0}, .seed = 1})(x);
  CHECK(ops::min(y).item<double>() == 0);
  CHECK(ops::max(y).item<double>() == 255);
  // Half of a normal distribution is below 0.
  const double low = ops::mean(ops::cast(y == 0, DType::Float32)).item<double>();
  CHECK(std::abs(low - 0.5) < 0.03);
}

TEST_CASE("half of all shears go each way, and blurs happen as often as factor says") {
  const Tensor row = ops::reshape(ops::arange(0, 20, 1, DType::Float32), {1, 1, 20, 1});
  const Tensor x = ops::tile(row, {400, 3, 1, 1});
  const Tensor y = layers::RandomShear({.x_factor = {0.5, 1.0}, .seed = 1})(x);
  const Tensor moved = ops::slice_axis(ops::slice_axis(y - x, 1, 2, 3), 2, 10, 11);
  CHECK(ops::max(moved).item<double>() == doctest::Approx(2).epsilon(0.02));
  CHECK(ops::min(moved).item<double>() == doctest::Approx(-2).epsilon(0.02));
  CHECK(ops::min(ops::abs(moved)).item<double>() >= 0.999);
  const double right = ops::mean(ops::cast(moved > 0, DType::Float32)).item<double>();
  CHECK(std::abs(right - 0.5) < 0.125);  // five standard deviations

  const Tensor blurred =
      layers::RandomGaussianBlur({.factor = {0.25, 0.25}, .sigma = {1.0, 1.0}, .seed = 1})(x);
  const double often =
      ops::mean(ops::cast(ops::any(ops::not_equal(blurred, x), {1, 2, 3}), DType::Float32))
          .item<double>();
  CHECK(std::abs(often - 0.25) < 0.11);
}

TEST_CASE("elastic transforms move neighbours alike, both axes apart, and some pictures") {
  constexpr int64_t kSize = 40;
  const Tensor place = ops::reshape(ops::arange(0, kSize, 1, DType::Float32), {1, 1, kSize, 1});
  const Tensor rows = ops::broadcast_to(ops::transpose(place, {0, 2, 1, 3}), {60, kSize, kSize, 1});
  const Tensor columns = ops::broadcast_to(place, {60, kSize, kSize, 1});
  const Tensor x = ops::concatenate({rows, columns}, -1);
  const Tensor y = layers::RandomElasticTransform(
      {.factor = {0.5, 0.5}, .scale = {1.0, 1.0}, .fill_mode = "nearest", .seed = 1})(x);
  const Tensor moves = ops::slice(y - x, {0, 10, 10, 0}, {60, 20, 20, 2});
  const Tensor moved = ops::any(ops::not_equal(moves, 0), {1, 2, 3});
  const double often = ops::mean(ops::cast(moved, DType::Float32)).item<double>();
  CHECK(std::abs(often - 0.5) < 0.33);  // five standard deviations
  // The noise's standard deviation 2, smoothed over about 4 pi sigma^2 pixels, times alpha = 4.
  const Tensor chosen = ops::boolean_mask(moves, moved);
  CHECK(ops::sqrt(ops::mean(ops::square(chosen))).item<double>() ==
        doctest::Approx(1.13).epsilon(0.1));
  const Tensor steps = ops::slice_axis(chosen, 1, 1) - ops::slice_axis(chosen, 1, 0, -1);
  CHECK(ops::mean(ops::square(steps)).item<double>() <
        0.25 * ops::mean(ops::square(chosen)).item<double>());
  const std::vector<Tensor> axes = ops::unstack(chosen, -1);
  CHECK(std::abs(ops::mean(axes[0] * axes[1]).item<double>()) <
        0.1 * ops::mean(ops::square(chosen)).item<double>());
}

TEST_CASE("tiles keep whole numbers whole") {
  const layers::ContrastLimitedAdaptiveHistogramEqualization layer({.tile_grid_size = {2, 2}});
  const Tensor bytes = test::colors(2);
  const Tensor y = layer(bytes);
  CHECK(y.dtype() == DType::UInt8);
  CHECK(test::distance(y, ops::floor(layer(ops::cast(bytes, DType::Float32)))) == 0);
}

TEST_CASE("what layers that move pixels refuse") {
  using namespace layers;  // NOLINT
  const std::vector<std::pair<std::function<void()>, const char*>> cases = {
      {[] { RandomShear({.x_factor = 1.5, .name = "l"}); },
       "RandomShear 'l': expected x_factor to be a number in [-1, 1], or two of them, got 1.5."},
      {[] { RandomShear({.fill_mode = "mirror", .name = "l"}); },
       "RandomShear 'l': unknown fill_mode 'mirror'. Known: reflect, wrap, constant, nearest."},
      {[] { RandomPerspective({.scale = 2.0, .name = "l"}); },
       "RandomPerspective 'l': expected scale in [0, 1], got 2."},
      {[] { RandomPerspective({.interpolation = "cubic", .name = "l"}); },
       "RandomPerspective 'l': unknown interpolation 'cubic'. Known: nearest, bilinear."},
      {[] {
         RandomErasing({.fill_value = {1.0, 2.0}, .name = "l"});
       },
       "RandomErasing 'l': expected fill_value to be a number, or three of them, got [1.0, 2.0]."},
      {[] {
         RandomErasing({.fill_value = {1.0, 2.0, 3.0}, .name = "l"})(ops::zeros({3, 3, 1}));
       },
       "RandomErasing 'l': expected images of red, green and blue, got (3, 3, 1)."},
      {[] { RandomErasing({.scale = 2.0, .name = "l"}); },
       "RandomErasing 'l': expected scale to be a number in [0, 1], or two of them, got 2.0."},
      {[] { RandomGaussianBlur({.kernel_size = 4, .name = "l"}); },
       "RandomGaussianBlur 'l': expected kernel_size of odd numbers, got 4 and 4."},
      {[] { RandomGaussianBlur({.sigma = -1.0, .name = "l"}); },
       "RandomGaussianBlur 'l': expected sigma to be a number in [0, 1], or two of them, got "
       "-1.0."},
      {[] {
         RandomElasticTransform({.scale = {0.5, 1.5}, .name = "l"});
       },
       "RandomElasticTransform 'l': expected scale to be a number in [0, 1], or two of them, got "
       "[0.5, 1.5]."},
      {[] { RandomElasticTransform({.fill_mode = "reflected", .name = "l"}); },
       "RandomElasticTransform 'l': unknown fill_mode 'reflected'. Did you mean 'reflect'? Known: "
       "constant, nearest, wrap, mirror, reflect."},
      {[] { RandomElasticTransform({.interpolation = "cubic", .name = "l"}); },
       "RandomElasticTransform 'l': unknown interpolation 'cubic'. Known: nearest, bilinear."},
      {[] { ContrastLimitedAdaptiveHistogramEqualization({.tile_grid_size = 0, .name = "l"}); },
       "ContrastLimitedAdaptiveHistogramEqualization 'l': expected tile_grid_size within [1, 256], "
       "got 0 and 0."},
  };
  for (const auto& [make, text] : cases) {
    CHECK(error_of(make) == std::string("InvalidArgument: ") + text);
  }
}
