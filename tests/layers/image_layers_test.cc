// SPDX-License-Identifier: Apache-2.0
// Layers that change images at random: their random values, and where they are applied.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <set>

#include "framework/core/random.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

const CallArgs kTraining = {.training = true};

// The pixels of all images differ.
Tensor pictures(int64_t count, int64_t height = 6, int64_t width = 5) {
  return ops::reshape(ops::arange(0, count * height * width, 1, DType::Float32),
                      {count, height, width, 1});
}

struct Case {
  std::string name;
  std::function<LayerHandle(std::optional<int64_t> seed)> make;
};

const std::vector<Case> kCases = {
    {"RandomFlip", [](auto seed) { return layers::RandomFlip({.seed = seed}); }},
    {"RandomRotation",
     [](auto seed) { return layers::RandomRotation({.factor = 0.4, .seed = seed}); }},
    {"RandomZoom",
     [](auto seed) {
       return layers::RandomZoom({.height_factor = 0.4, .width_factor = 0.3, .seed = seed});
     }},
    {"RandomTranslation",
     [](auto seed) {
       return layers::RandomTranslation({.height_factor = 0.5, .width_factor = 0.5, .seed = seed});
     }},
    {"RandomContrast",
     [](auto seed) {
       return layers::RandomContrast(
           {.factor = {0.5, 0.9}, .value_range = {-1e6, 1e6}, .seed = seed});
     }},
    {"RandomBrightness",
     [](auto seed) {
       return layers::RandomBrightness({.factor = 0.5, .value_range = {-1e6, 1e6}, .seed = seed});
     }},
};

}  // namespace

TEST_CASE("one seed draws alike, others don't, and each call draws anew") {
  const Tensor x = pictures(8);
  for (const Case& item : kCases) {
    CAPTURE(item.name);
    const LayerHandle layer = item.make(3);
    const Tensor first = layer(x, kTraining);
    CHECK(test::distance(item.make(3)(x, kTraining), first) == 0);
    CHECK(test::distance(item.make(4)(x, kTraining), first) > 0);
    CHECK(test::distance(layer(x, kTraining), first) > 0);
    set_random_seed(1);
    const Tensor unseeded = item.make({})(x, kTraining);
    set_random_seed(1);
    CHECK(test::distance(item.make({})(x, kTraining), unseeded) == 0);
  }
}

TEST_CASE("pictures of a batch are changed each by itself") {
  const Tensor one = ops::reshape(ops::arange(0, 30, 1, DType::Float32), {1, 6, 5, 1});
  const Tensor x = ops::tile(one, {16, 1, 1, 1});
  for (const Case& item : kCases) {
    CAPTURE(item.name);
    const Tensor y = item.make(1)(x, kTraining);
    std::set<std::vector<float>> kinds;
    for (int64_t i = 0; i < 16; ++i) kinds.insert(y.rows(i, i + 1).to_vector<float>());
    CHECK(kinds.size() >= (item.name == "RandomFlip" ? 2 : 16));
  }
}

TEST_CASE("training is the rule where nobody says otherwise") {
  const Tensor x = pictures(8);
  for (const Case& item : kCases) {
    CAPTURE(item.name);
    const LayerHandle layer = item.make(3);
    CHECK(test::distance(layer(x), x) > 0);
    CHECK(test::distance(layer(x, {.training = false}), x) == 0);
    const Tensor bytes = layer(ops::cast(pictures(2), DType::UInt8), {.training = false});
    CHECK(bytes.dtype() == DType::Float32);
  }
}

TEST_CASE("single pictures, and channels first") {
  const Tensor x = pictures(1);
  for (const Case& item : kCases) {
    CAPTURE(item.name);
    const Tensor batched = item.make(5)(x, kTraining);
    const Tensor single = item.make(5)(ops::squeeze(x, 0), kTraining);
    CHECK(single.shape() == Shape{6, 5, 1});
    CHECK(test::distance(single, ops::squeeze(batched, 0)) == 0);
  }
  const layers::RandomRotation last({.factor = 0.3, .seed = 1});
  const layers::RandomRotation first({.factor = 0.3, .seed = 1, .data_format = "channels_first"});
  const Tensor y = first(ops::transpose(pictures(3), {0, 3, 1, 2}), kTraining);
  CHECK(test::distance(ops::transpose(y, {0, 2, 3, 1}), last(pictures(3), kTraining)) == 0);
}

TEST_CASE("half of the pictures are mirrored") {
  const Tensor x = pictures(400);
  const Tensor y = layers::RandomFlip({.mode = "horizontal", .seed = 1})(x, kTraining);
  int mirrored = 0;
  for (int64_t i = 0; i < 400; ++i) {
    const Tensor before = x.rows(i, i + 1);
    const Tensor after = y.rows(i, i + 1);
    const bool flipped = test::distance(after, before) > 0;
    if (flipped) CHECK(test::distance(after, ops::flip(before, 2)) == 0);
    mirrored += flipped;
  }
  CHECK(std::abs(mirrored - 200) < 50);  // five standard deviations
}

TEST_CASE("numbers are drawn within their bounds, and all over them") {
  const Tensor x = ops::full({1000, 2, 2, 1}, 100.0f);
  const auto [low, high] = std::pair(
      ops::min(layers::RandomBrightness({.factor = {0.1, 0.3}, .seed = 1})(x)).item<double>(),
      ops::max(layers::RandomBrightness({.factor = {0.3, 0.1}, .seed = 2})(x)).item<double>());
  CHECK(low == doctest::Approx(100 + 25.5).epsilon(0.01));
  CHECK(low >= 100 + 25.5);
  CHECK(high == doctest::Approx(100 + 76.5).epsilon(0.01));
  CHECK(high <= 100 + 76.5);

  // Contrast factors of 0.8 to 1.5, for values 10 apart.
  const Tensor values = ops::tile(Tensor::from<float>({100, 110}, {1, 2, 1, 1}), {1000, 1, 1, 1});
  const Tensor y = layers::RandomContrast({.factor = {0.2, 0.5}, .seed = 1})(values);
  const Tensor apart = y(Slice(), 1) - y(Slice(), 0);
  CHECK(ops::min(apart).item<double>() == doctest::Approx(8).epsilon(0.01));
  CHECK(ops::max(apart).item<double>() == doctest::Approx(15).epsilon(0.01));
}

TEST_CASE("a random crop is one part of all pictures") {
  const Tensor x = pictures(3, 7, 9);
  const layers::RandomCrop crop({.height = 4, .width = 5, .seed = 1});
  std::set<float> corners;
  for (int i = 0; i < 200; ++i) {
    const Tensor y = crop(x);
    REQUIRE(y.shape() == Shape{3, 4, 5, 1});
    const auto corner = static_cast<int64_t>(y.to_vector<float>()[0]);
    const auto [top, left] = std::pair(corner / 9, corner % 9);
    const Tensor expected = ops::slice_axis(ops::slice_axis(x, 1, top, top + 4), 2, left, left + 5);
    REQUIRE(test::distance(y, expected) == 0);
    corners.insert(y.to_vector<float>()[0]);
  }
  CHECK(corners.size() == 4 * 5);  // every position
  const Tensor whole = crop(x, {.training = false});
  CHECK(test::distance(whole, ops::image::resize(x, {4, 5}, {.crop_to_aspect_ratio = true})) == 0);
}

TEST_CASE("what image layers refuse") {
  using namespace layers;  // NOLINT
  const std::vector<std::pair<std::function<void()>, const char*>> cases = {
      {[] { RandomFlip({.mode = "horizontaly", .name = "l"}); },
       "RandomFlip 'l': unknown mode 'horizontaly'. Did you mean 'horizontal'? Known: horizontal, "
       "vertical, horizontal_and_vertical."},
      {[] { RandomFlip({.data_format = "channels", .name = "l"}); },
       "RandomFlip 'l': unknown data_format 'channels'. Did you mean 'channels_last'? Known: "
       "channels_last, channels_first."},
      {[] { RandomRotation({.name = "l"}); },
       "RandomRotation 'l': expected factor to be a number in [-1, 1], or two of them, got null."},
      {[] { RandomRotation({.factor = 1.5, .name = "l"}); },
       "RandomRotation 'l': expected factor to be a number in [-1, 1], or two of them, got 1.5."},
      {[] {
         RandomRotation({.factor = {0.1, 0.2, 0.3}, .name = "l"});
       },
       "RandomRotation 'l': expected factor to be a number in [-1, 1], or two of them, got [0.1, "
       "0.2, 0.3]."},
      {[] { RandomRotation({.factor = NAN, .name = "l"}); },
       "RandomRotation 'l': expected factor to be a number in [-1, 1], or two of them, got NaN."},
      {[] { RandomRotation({.factor = 0.1, .fill_mode = "mirror", .name = "l"}); },
       "RandomRotation 'l': unknown fill_mode 'mirror'. Known: reflect, wrap, constant, nearest."},
      {[] { RandomZoom({.height_factor = 0.1, .interpolation = "bicubic", .name = "l"}); },
       "RandomZoom 'l': unknown interpolation 'bicubic'. Known: nearest, bilinear."},
      {[] { RandomZoom({.height_factor = 0.1, .width_factor = -1.0, .name = "l"}); },
       "RandomZoom 'l': expected width_factor above -1, where nothing is seen, got -1.0."},
      {[] { RandomTranslation({.height_factor = 0.1, .name = "l"}); },
       "RandomTranslation 'l': expected width_factor to be a number in [-1, 1], or two of them, "
       "got null."},
      {[] { RandomContrast({.factor = -0.1, .name = "l"}); },
       "RandomContrast 'l': expected factor to be a number in [0, 1], or two of them, got -0.1."},
      {[] {
         RandomBrightness({.factor = 0.1, .value_range = {1.0, 1.0}, .name = "l"});
       },
       "RandomBrightness 'l': expected value_range to be two different numbers, got [1.0, 1.0]."},
      {[] { RandomCrop({.height = 3, .name = "l"}); },
       "RandomCrop 'l': expected height and width of at least 1, got 3 and 0."},
      {[] { CenterCrop({.height = -1, .width = 2, .name = "l"}); },
       "CenterCrop 'l': expected height and width of at least 1, got -1 and 2."},
      {[] { Resizing({.height = 2, .width = 2, .interpolation = "linear", .name = "l"}); },
       "Resizing 'l': unknown interpolation 'linear'. Did you mean 'bilinear'? Known: bilinear, "
       "nearest, bicubic, lanczos3, lanczos5."},
      {[] { Resizing({.height = 2, .width = 2, .fill_mode = "wrap", .name = "l"}); },
       "Resizing 'l': unknown fill_mode 'wrap'. Known: constant."},
      {[] {
         Resizing({.height = 2,
                   .width = 2,
                   .crop_to_aspect_ratio = true,
                   .pad_to_aspect_ratio = true,
                   .name = "l"});
       },
       "Resizing 'l': expected at most one of crop_to_aspect_ratio and pad_to_aspect_ratio."},
      {[] {
         CenterCrop({.height = 2, .width = 2, .name = "l"})(ops::zeros({4, 4}));
       },
       "CenterCrop 'l': expected an image (height, width, channels) or a batch of them, got (4, "
       "4)."},
  };
  for (const auto& [make, text] : cases) {
    CHECK(error_of(make) == std::string("InvalidArgument: ") + text);
  }
}
