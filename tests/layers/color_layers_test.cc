// SPDX-License-Identifier: Apache-2.0
// Layers that change the colors of pictures: what they draw, where they may stand, what they
// refuse.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <set>

#include "data/dataset.h"
#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

const CallArgs kInTraining = {.training = true};

// (count, 4, 5, 3) of bytes, all kinds of colors.
Tensor colors(int64_t count) {
  const Tensor numbers = ops::arange(0, count * 60, 1, DType::Int32) * 97;
  return ops::reshape(ops::cast(ops::mod(numbers, 251), DType::UInt8), {count, 4, 5, 3});
}

struct ColorCase {
  std::string name;
  std::function<LayerHandle(std::optional<int64_t> seed, std::string format)> make;
  size_t kinds = 16;  // at least as many different results for 16 equal pictures
  bool random = true;
};

template <class Handle, class Options>
ColorCase drawing(const char* name, Options options, size_t kinds = 16) {
  return {name,
          [options](std::optional<int64_t> seed, std::string format) -> LayerHandle {
            Options given = options;
            given.seed = seed;
            given.data_format = std::move(format);
            return Handle(given);
          },
          kinds};
}

template <class Handle, class Options>
ColorCase fixed(const char* name) {
  return {name,
          [](std::optional<int64_t>, std::string format) -> LayerHandle {
            return Handle(Options{.data_format = std::move(format)});
          },
          1, false};
}

const std::vector<ColorCase>& color_cases() {
  using namespace layers;  // NOLINT
  static const std::vector<ColorCase> cases = {
      drawing<RandomHue>("RandomHue", RandomHueOptions{.factor = 1.0}),
      drawing<RandomSaturation>("RandomSaturation", RandomSaturationOptions{.factor = {0.1, 0.4}}),
      drawing<RandomColorDegeneration>("RandomColorDegeneration",
                                       RandomColorDegenerationOptions{.factor = {0.1, 1.0}}),
      drawing<RandomSharpness>("RandomSharpness", RandomSharpnessOptions{.factor = 0.4}),
      drawing<RandomGrayscale>("RandomGrayscale", RandomGrayscaleOptions{}, 2),
      drawing<RandomInvert>("RandomInvert", RandomInvertOptions{.factor = {0.5, 0.5}}, 2),
      drawing<RandomPosterization>("RandomPosterization",
                                   RandomPosterizationOptions{.factor = {1.0, 7.0}}, 3),
      drawing<Solarization>("Solarization",
                            SolarizationOptions{.addition_factor = 0.5, .threshold_factor = 1.0}),
      fixed<AutoContrast, AutoContrastOptions>("AutoContrast"),
      fixed<Equalization, EqualizationOptions>("Equalization"),
  };
  return cases;
}

}  // namespace

TEST_CASE("layers of colors conform") {
  const Tensor images = 100 * test::some_values({16, 4, 5, 3}) + 128;
  for (const ColorCase& item : color_cases()) {
    // In a range of small numbers, since float32 is compared with float64.
    const auto make = [&]() -> LayerHandle {
      if (item.name == "AutoContrast") return layers::AutoContrast({.value_range = {-1.0, 1.0}});
      return item.make({}, "");
    };
    test::check_layer({.name = item.name,
                       .make = make,
                       .inputs = {images},
                       .output_shape = images.shape(),
                       .differs_in_training = item.name != "AutoContrast",
                       .random = item.random,
                       .differentiable = item.name != "RandomPosterization"});
  }
}

TEST_CASE("layers of colors draw for each picture, alike with one seed") {
  const Tensor x = ops::tile(colors(1), {16, 1, 1, 1});
  for (const ColorCase& item : color_cases()) {
    CAPTURE(item.name);
    const Tensor y = item.make(3, "")(x, kInTraining);
    CHECK(y.dtype() == DType::Float32);
    CHECK(test::distance(item.make(3, "")(x, kInTraining), y) == 0);
    CHECK((test::distance(item.make(4, "")(x, kInTraining), y) > 0) == item.random);
    std::set<std::vector<float>> kinds;
    for (int64_t i = 0; i < 16; ++i) kinds.insert(y.rows(i, i + 1).to_vector<float>());
    CHECK(kinds.size() >= item.kinds);
  }
}

TEST_CASE("layers of colors take single pictures, channels first, bytes and floats") {
  for (const ColorCase& item : color_cases()) {
    CAPTURE(item.name);
    const Tensor y = item.make(5, "")(colors(1), kInTraining);
    CHECK(test::distance(item.make(5, "")(ops::squeeze(colors(1), 0), kInTraining),
                         ops::squeeze(y, 0)) == 0);
    const Tensor floats = ops::cast(colors(1), DType::Float32);
    CHECK(test::distance(item.make(5, "")(floats, kInTraining), y) == 0);
    const Tensor first =
        item.make(5, "channels_first")(ops::transpose(colors(1), {0, 3, 1, 2}), kInTraining);
    CHECK(test::distance(ops::transpose(first, {0, 2, 3, 1}), y) == 0);
  }
}

TEST_CASE("layers of colors draw in a dataset's map by element, on any number of threads") {
  const Tensor x = colors(12);
  for (const ColorCase& item : color_cases()) {
    CAPTURE(item.name);
    const auto mapped = [&](int64_t calls) {
      set_random_seed(5);
      const LayerHandle layer = item.make({}, "");
      return data::Dataset::from_tensor_slices(x).map(
          [layer](const Tensor& picture) { return Tensor(layer(picture)); },
          {.num_parallel_calls = calls});
    };
    const data::Dataset one = mapped(1), four = mapped(4);
    for (int pass = 0; pass < 2; ++pass) {
      data::Iterator a = one.iterator(), b = four.iterator();
      data::Element from_one, from_four;
      int64_t count = 0;
      while (a.next(from_one)) {
        REQUIRE(b.next(from_four));
        CHECK(test::distance(from_one.tensor(0), from_four.tensor(0)) == 0);
        ++count;
      }
      CHECK(count == 12);
    }
  }
}

TEST_CASE("layers of colors work in a model, in training alone but for AutoContrast") {
  const Tensor x = ops::cast(colors(4), DType::Float32);
  for (const ColorCase& item : color_cases()) {
    CAPTURE(item.name);
    Sequential model({Input({.shape = {4, 5, 3}}), item.make(1, "")});
    CHECK((test::distance(model.predict(x, {.verbose = 0}), x) == 0) ==
          (item.name != "AutoContrast"));
    model.compile({.optimizer = "sgd", .loss = "mse"});
    CHECK(model.fit(x, x, {.epochs = 3, .verbose = 0})["loss"].at(0) > 0);
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
  // A probability that is itself drawn, from 0 to 0.5.
  const double inverted = changed(layers::RandomInvert({.factor = 0.5, .seed = 1})(x));
  CHECK(std::abs(inverted - 250) < 75);
}

TEST_CASE("what is drawn for colors lies within bounds, and all over them") {
  const Tensor one = Tensor::from<float>({200, 0, 0}, {1, 1, 1, 3});
  const Tensor x = ops::tile(one, {2000, 1, 1, 1});
  // Half of the way to the gray of 0.2989 * 200 is the farthest; nothing is the nearest.
  const double gray = 0.2989 * 200;
  const Tensor paler = layers::RandomColorDegeneration({.factor = {0.0, 0.5}, .seed = 1})(x);
  const Tensor red = ops::slice_axis(paler, 3, 0, 1);
  CHECK(ops::max(red).item<double>() == doctest::Approx(200).epsilon(0.01));
  CHECK(ops::min(red).item<double>() == doctest::Approx((200 + gray) / 2).epsilon(0.01));
  // Hues of a quarter of half a circle both ways from red: its green and its blue, up to 3 / 4.
  const Tensor turned = layers::RandomHue({.factor = 0.25, .seed = 1})(x);
  for (const int64_t channel : {1, 2}) {
    const Tensor part = ops::slice_axis(turned, 3, channel, channel + 1);
    CHECK(ops::max(part).item<double>() == doctest::Approx(150).epsilon(0.02));
    CHECK(ops::max(part).item<double>() <= 150.001);
    const double without = ops::mean(ops::cast(part == 0, DType::Float32)).item<double>();
    CHECK(std::abs(without - 0.5) < 0.06);
  }
  // 1 to 3 bits of 255: 128, 192 or 224 remain; the upper bound is exclusive.
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
       "RandomHue 'l': expected pictures of red, green and blue, got (2, 3, 3, 1)."},
      {[] {
         RandomSaturation({.factor = 0.1, .data_format = "channels_first", .name = "l"})(
             ops::zeros({4, 3, 3}));
       },
       "RandomSaturation 'l': expected pictures of red, green and blue, got (4, 3, 3)."},
      {[] {
         RandomGrayscale({.name = "l"})(ops::zeros({2, 3, 3, 4}));
       },
       "RandomGrayscale 'l': expected pictures of red, green and blue, got (2, 3, 3, 4)."},
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
       "AutoContrast 'l': expected a picture (height, width, channels) or a batch of them, got (4, "
       "4)."},
  };
  for (const auto& [make, text] : cases) {
    CHECK(error_of(make) == std::string("InvalidArgument: ") + text);
  }
}
