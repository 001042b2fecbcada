// SPDX-License-Identifier: Apache-2.0
// keras.ops.image: tests/golden compares the values with Keras's, so this file tests gradients,
// dtypes, random numbers, placeholders and errors.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;
using namespace ops::image;  // NOLINT

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check_image_op(const OpFunction& f, const Inputs& inputs, const GradientCheck& check = {}) {
  check_compiled(f, inputs, 1e-9);
  check_gradients(f, inputs, check);
}

TEST_CASE("gradients of colors, sizes and patches") {
  const Tensor image = random_tensor({3, 4, 3}, 0.1, 0.9);
  check_image_op([](const Inputs& in) { return rgb_to_hsv(in[0]); }, {image});
  check_image_op([](const Inputs& in) { return hsv_to_rgb(in[0]); }, {image});
  check_image_op(
      [](const Inputs& in) {
        return pad_images(
            in[0], {.top_padding = 1, .left_padding = 0, .bottom_padding = 2, .target_width = 7});
      },
      {image});
  check_image_op(
      [](const Inputs& in) {
        return crop_images(
            in[0],
            {.left_cropping = 1, .bottom_cropping = 0, .right_cropping = 1, .target_height = 2});
      },
      {image});
  check_image_op(
      [](const Inputs& in) {
        return extract_patches_3d(in[0], {2, 1, 2}, {.strides = 1, .padding = "same"});
      },
      {random_tensor({1, 2, 2, 3, 1})});
}

TEST_CASE("patches side by side are those that windows cut out") {
  const Tensor images = random_tensor({2, 7, 9, 3});
  const Tensor patches = extract_patches(images, {2, 3});
  REQUIRE(patches.shape() == Shape{2, 3, 3, 18});
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t column = 0; column < 3; ++column) {
      const Tensor window = ops::slice(images, {0, 2 * row, 3 * column, 0}, {2, 2, 3, 3});
      check_same(ops::slice(patches, {0, row, column, 0}, {2, 1, 1, 18}),
                 ops::reshape(window, {2, 1, 1, 18}), 0);
    }
  }
  const Tensor padded = extract_patches(images, 4, {.padding = "same"});
  REQUIRE(padded.shape() == Shape{2, 2, 3, 48});
  const Tensor corner = ops::pad(images, {{0, 0}, {0, 1}, {1, 2}, {0, 0}});
  check_same(ops::slice(padded, {0, 1, 2, 0}, {2, 1, 1, 48}),
             ops::reshape(ops::slice(corner, {0, 4, 8, 0}, {2, 4, 4, 3}), {2, 1, 1, 48}), 0);
  check_image_op(
      [](const Inputs& in) {
        return extract_patches(in[0], {2, 3});
      },
      {random_tensor({1, 5, 7, 2})});
}

TEST_CASE("gradients of filters") {
  const Tensor image = random_tensor({1, 4, 5, 2});
  check_image_op(
      [](const Inputs& in) {
        return gaussian_blur(in[0], {.kernel_size = {3, 5}, .sigma = in[1]});
      },
      {image, random_tensor({2}, 0.5, 1.5, 2)});
  check_image_op([](const Inputs& in) { return sobel_edges(in[0]); }, {image});
  check_image_op([](const Inputs& in) { return ssim(in[0], in[1], {.filter_size = 3}); },
                 {random_tensor({1, 4, 4, 1}, 0.2, 0.8), random_tensor({1, 4, 4, 1}, 0.2, 0.8, 2)},
                 {.tolerance = 1e-4});
}

TEST_CASE("gradients of what moves pixels, to coordinates too") {
  const Tensor image = random_tensor({1, 4, 5, 2});
  const Tensor starts = Tensor::from<float>({0, 0, 4, 0, 0, 3, 4, 3}, {4, 2});
  const Tensor ends = Tensor::from<float>({0.5, 0.25, 4, 1, -0.5, 3, 3.5, 2}, {4, 2});
  check_image_op([&](const Inputs& in) { return perspective_transform(in[0], starts, ends); },
                 {image});
  for (const char* mode : {"constant", "nearest", "wrap", "mirror", "reflect"}) {
    CAPTURE(mode);
    check_image_op(
        [&](const Inputs& in) { return map_coordinates(in[0], in[1], 1, {.fill_mode = mode}); },
        {random_tensor({3, 4}), random_tensor({2, 6}, -4, 7, 2)});
  }
  check_image_op([](const Inputs& in) { return elastic_transform(in[0], {.seed = 1}); }, {image});
  for (const char* method : {"linear", "cubic", "lanczos3", "lanczos5"}) {
    CAPTURE(method);
    check_image_op(
        [&](const Inputs& in) {
          return scale_and_translate(in[0], {1, 3, 6, 2}, in[1], in[2], {1, 2}, method);
        },
        {image, Tensor::from<double>({0.63, 1.34}), Tensor::from<double>({0.21, -0.47})},
        {.tolerance = 1e-4});
  }
}

TEST_CASE("elastic transforms draw by their seed, and move nothing where they shouldn't") {
  const Tensor image = random_tensor({2, 6, 7, 3});
  const ElasticTransformOptions once{.alpha = 3, .sigma = 1, .seed = 5};
  check_same(elastic_transform(image, once), elastic_transform(image, once));
  const auto differs = [](const Tensor& a, const Tensor& b) {
    return ops::max(ops::abs(a - b)).item<double>() > 0;
  };
  CHECK(differs(elastic_transform(image, once),
                elastic_transform(image, {.alpha = 3, .sigma = 1, .seed = 6})));
  CHECK(differs(elastic_transform(image), elastic_transform(image)));
  check_same(elastic_transform(image, {.alpha = 0}), image, 1e-12);
  check_same(elastic_transform(image, {.sigma = 0}), image, 1e-12);
  // Channels are moved in the same way, in both data formats, and an image like a batch of one.
  const Tensor first = ops::transpose(image, {0, 3, 1, 2});
  ElasticTransformOptions other = once;
  other.data_format = "channels_first";
  check_same(ops::transpose(elastic_transform(first, other), {0, 2, 3, 1}),
             elastic_transform(image, once));
  check_same(elastic_transform(image[0], once),
             elastic_transform(ops::slice_axis(image, 0, 0, 1), once)[0]);
  CHECK(elastic_transform(ops::cast(image, DType::Float16)).dtype() == DType::Float16);
  CHECK(elastic_transform(ops::zeros({0, 6, 7, 3})).shape() == Shape{0, 6, 7, 3});
}

TEST_CASE("coordinates that are no numbers, or far away") {
  const Tensor x = Tensor::from<double>({1, 2, 3, 4});
  const Tensor places = Tensor::from<double>({NAN, kInfinity, -kInfinity, 1e300, -1e18, 2}, {1, 6});
  check_values(map_coordinates(x, places, 0, {.fill_value = 7}), {6}, {7, 7, 7, 7, 7, 3});
  for (const char* mode : {"constant", "nearest", "wrap", "mirror", "reflect"}) {
    CAPTURE(mode);
    const Tensor found = map_coordinates(x, places, 1, {.fill_mode = mode});
    CHECK(std::isnan(to_doubles(found)[0]));
    CHECK(to_doubles(found)[5] == 3);
  }
  // Large integers are moved without rounding.
  const int64_t large = (int64_t{1} << 60) + 1;
  const Tensor wide = Tensor::from<int64_t>({large, 5});
  CHECK(map_coordinates(wide, Tensor::from<float>({0.2F}, {1, 1}), 0).item<int64_t>() == large);
  CHECK(map_coordinates(x, ops::zeros({1, 0}), 1).shape() == Shape{0});
  const Tensor nowhere = Tensor::from<float>({NAN, 0, 0, 0, 1, 0, 0, 0});
  for (const char* mode : {"constant", "nearest", "wrap", "reflect"}) {
    CAPTURE(mode);
    const Tensor seen =
        affine_transform(ops::ones({2, 2, 1}), nowhere,
                         {.interpolation = "nearest", .fill_mode = mode, .fill_value = 3});
    check_values(seen, {2, 2, 1}, {3, 3, 3, 3});
  }
}

TEST_CASE("integers are rounded within the values that there were") {
  const Tensor bytes = Tensor::from<int32_t>({10, 0, 250, 10, 250, 0}, {1, 6, 1});
  const Tensor y = scale_and_translate(bytes, {1, 11, 1}, Tensor::from<float>({1.9F}),
                                       Tensor::from<float>({0}), {1}, "cubic");
  CHECK(y.dtype() == DType::Int32);
  CHECK(ops::min(y).item<int>() == 0);
  CHECK(ops::max(y).item<int>() == 250);
}

template <class F>
std::string refused(F f) {
  return message_of<InvalidArgument>(f);
}

TEST_CASE("places of pixels are the same again and again") {
  const Tensor image = random_tensor({9, 7}, -2, 2, 5);
  const Tensor places = random_tensor({2, 40}, -2, 9, 6);
  const Tensor transform = Tensor::from<double>({0.9, 0.2, -0.5, -0.1, 1.1, 0.3, 0.01, 0});
  for (const char* mode : {"constant", "nearest", "wrap", "reflect"}) {
    const auto mapped = [&](double fill_value) {
      return ops::image::map_coordinates(image, places, 1,
                                         {.fill_mode = mode, .fill_value = fill_value});
    };
    const auto turned = [&](const char* interpolation) {
      return ops::image::affine_transform(ops::expand_dims(image, -1), transform,
                                          {.interpolation = interpolation, .fill_mode = mode});
    };
    const std::vector<Tensor> first = {mapped(0), mapped(1), turned("bilinear"), turned("nearest")};
    for (int call = 0; call < 4; ++call) {
      check_same(mapped(0), first[0]);
      check_same(mapped(1), first[1]);
      check_same(turned("bilinear"), first[2]);
      check_same(turned("nearest"), first[3]);
    }
  }
}

// Most pixels of a large image don't contribute, and aren't read.
TEST_CASE("a large picture is resized by the pixels that count") {
  const Tensor x = random_tensor({1, 41, 30, 2}, -2, 2, 6);
  const std::vector<double> values = to_doubles(x);
  std::vector<double> expected;
  const auto part = [](int64_t size, int64_t in, int64_t i) {
    const double place =
        (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(size) - 0.5;
    return std::pair(static_cast<int64_t>(place), place - std::floor(place));
  };
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t column = 0; column < 5; ++column) {
      for (int64_t channel = 0; channel < 2; ++channel) {
        const auto [top, down] = part(4, 41, row);
        const auto [left, right] = part(5, 30, column);
        const auto at = [&, top = top, left = left](int64_t i, int64_t j) {
          return values[static_cast<size_t>(((top + i) * 30 + left + j) * 2 + channel)];
        };
        expected.push_back((at(0, 0) * (1 - right) + at(0, 1) * right) * (1 - down) +
                           (at(1, 0) * (1 - right) + at(1, 1) * right) * down);
      }
    }
  }
  check_values(ops::image::resize(x, {4, 5}), {1, 4, 5, 2}, expected);
  for (const char* kind : {"bilinear", "bicubic", "lanczos3"}) {
    check_gradients(
        [&](const Inputs& in) {
          return ops::image::resize(in[0], {2, 3}, {.interpolation = kind});
        },
        {random_tensor({1, 33, 7, 1}, -2, 2, 7)}, {.second_order = false});
  }
}

TEST_CASE("a resized picture of bytes is one of bytes") {
  const Tensor bytes = Tensor::from(std::vector<uint8_t>{0, 255, 0, 10}, {2, 2, 1});
  const Tensor numbers = ops::cast(bytes, DType::Float32);
  for (const char* interpolation : {"bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"}) {
    CAPTURE(interpolation);
    const ops::image::ResizeOptions options{.interpolation = interpolation};
    const Tensor resized = ops::image::resize(bytes, {3, 3}, options);
    CHECK(resized.dtype() == DType::UInt8);
    const Tensor exact = ops::image::resize(numbers, {3, 3}, options);
    CHECK(exact.dtype() == DType::Float32);
    const Tensor wanted = ops::clip(ops::round(exact), 0, 255);
    CHECK(ops::all(ops::equal(ops::cast(resized, DType::Float32), wanted)).item<bool>());
  }
}

TEST_CASE("what operations on images refuse: colors and sizes") {
  const Tensor image = ops::ones({4, 5, 3});
  CHECK(refused([&] {
          rgb_to_hsv(ops::ones({4, 5}));
        }) ==
        "rgb_to_hsv: expected images (height, width, channels) or (batch, height, width, "
        "channels), got shape (4, 5).");
  CHECK(refused([&] {
          hsv_to_rgb(ops::ones({4, 5, 4}));
        }) == "hsv_to_rgb: expected 3 channels, got shape (4, 5, 4).");
  CHECK(refused([&] { rgb_to_hsv(ops::cast(image, DType::UInt8)); }) ==
        "rgb_to_hsv: expected images of a floating-point dtype, got uint8 of shape (4, 5, 3). Cast "
        "them first, for example with ops::cast(x, DType::Float32).");
  CHECK(refused([&] { rgb_to_hsv(image, "channel_first"); }) ==
        "rgb_to_hsv: unknown data_format 'channel_first'. Did you mean 'channels_first'? Known: "
        "channels_last, channels_first.");
  CHECK(refused([&] { pad_images(image, {.top_padding = 1}); }) ==
        "pad_images: expected two of the three numbers for the height (before, after, and of the "
        "target), got 1.");
  CHECK(refused([&] {
          pad_images(image,
                     {.top_padding = 1, .left_padding = 3, .bottom_padding = 0, .target_width = 7});
        }) ==
        "pad_images: expected numbers that fit images of width 5, got 3 before and -1 after.");
  CHECK(refused([&] {
          crop_images(
              image,
              {.top_cropping = 3, .left_cropping = 0, .bottom_cropping = 2, .right_cropping = 0});
        }) ==
        "crop_images: expected numbers that fit images of height 4, got 3 before and 2 after.");
  CHECK(refused([&] { crop_images(image, {.top_cropping = -1, .target_height = 2}); }) ==
        "crop_images: expected numbers in [0, 2^48] for the height, got -1.");
  CHECK(refused([&] {
          extract_patches_3d(ops::ones({2, 3, 4, 1}), {3, 3, 3});
        }) ==
        "extract_patches_3d: expected volumes of at least the patches' size (3, 3, 3), got shape "
        "(2, 3, 4, 1).");
  CHECK(refused([&] { extract_patches_3d(image, 2); }) ==
        "extract_patches_3d: expected volumes (depth, height, width, channels) or (batch, depth, "
        "height, width, channels), got shape (4, 5, 3).");
}

TEST_CASE("what operations on images refuse: filters and places") {
  const Tensor image = ops::ones({4, 5, 3});
  CHECK(refused([&] { gaussian_blur(image, {.kernel_size = 0}); }) ==
        "gaussian_blur: expected kernel_size of at least 1, got (0, 0).");
  CHECK(refused([&] {
          gaussian_blur(image, {.kernel_size = {3, 1'000'000'000}});
        }) == "gaussian_blur: expected a kernel_size of at most 100000, got 1000000000.");
  CHECK(refused([&] { gaussian_blur(image, {.sigma = ops::ones({3})}); }) ==
        "gaussian_blur: expected a sigma of shape () or (2,), got (3,).");
  CHECK(refused([&] { gaussian_blur(image, {.sigma = 0}); }) ==
        "gaussian_blur: expected a sigma above 0, got 0.");
  CHECK(refused([&] {
          gaussian_blur(image, {.sigma = Tensor::from({1.0f, std::nanf("")}, {2})});
        }) == "gaussian_blur: expected a sigma above 0, got nan.");
  CHECK(refused([&] { gaussian_blur(image, {.sigma = -1.5}); }) ==
        "gaussian_blur: expected a sigma above 0, got -1.5.");
  CHECK(refused([&] { sobel_edges(image); }) ==
        "sobel_edges: expected a batch of images, of 4 axes, got shape (4, 5, 3).");
  CHECK(refused([&] {
          sobel_edges(ops::ones({1, 1, 5, 3}));
        }) == "sobel_edges: expected images of at least 2 x 2 pixels, got shape (1, 1, 5, 3).");
  CHECK(refused([&] {
          ssim(image, ops::ones({4, 5, 1}));
        }) == "ssim: expected images of one shape, got (4, 5, 3) and (4, 5, 1).");
  CHECK(refused([&] { ssim(image, image); }) ==
        "ssim: expected images of at least filter_size (11) pixels along each axis, got shape (4, "
        "5, 3).");
  CHECK(refused([&] {
          perspective_transform(image, ops::ones({4, 2}), ops::ones({3, 2}));
        }) ==
        "perspective_transform: expected start_points and end_points both of shape (4, 2), or both "
        "(batch, 4, 2), got (4, 2) and (3, 2).");
  CHECK(refused([&] {
          perspective_transform(image, ops::ones({4, 2}), ops::ones({4, 2}));
        }) ==
        "perspective_transform, where no three points may lie on one line: expected matrices that "
        "have an inverse, but number 0 has none (its triangular factor has a 0 on the diagonal).");
  CHECK(refused([&] {
          map_coordinates(image, ops::ones({2, 5}), 1);
        }) ==
        "map_coordinates: expected coordinates of shape (3, ...), one for each axis of the inputs' "
        "shape (4, 5, 3), got (2, 5).");
  CHECK(refused([&] {
          map_coordinates(image, ops::ones({3, 5}), 2);
        }) == "map_coordinates: expected order 0 or 1, got 2.");
  CHECK(refused([&] {
          map_coordinates(ops::ones({0}), ops::ones({1, 2}), 1);
        }) == "map_coordinates: expected inputs with elements, got shape (0,).");
  CHECK(refused([&] { elastic_transform(image, {.fill_mode = "wrapped"}); }) ==
        "elastic_transform: unknown fill_mode 'wrapped'. Did you mean 'wrap'? Known: constant, "
        "nearest, wrap, mirror, reflect.");
  CHECK(refused([&] { elastic_transform(image, {.sigma = -1}); }) ==
        "elastic_transform: expected a sigma in [0, 1e6] and a finite alpha, got -1 and 20.");
  CHECK(
      refused([&] {
        scale_and_translate(image, {4, 6, 2}, ops::ones({1}), ops::ones({1}), {1}, "linear");
      }) ==
      "scale_and_translate: expected an output_shape that differs from the images' (4, 5, 3) "
      "along spatial_dims (1,) alone, and has elements there, as the images have, got (4, 6, 2).");
  CHECK(refused([&] {
          scale_and_translate(image, {4, 6, 3}, ops::ones({2}), ops::ones({1}), {1}, "linear");
        }) ==
        "scale_and_translate: expected scale and translation of shape (1,), one number for each of "
        "spatial_dims, got (2,) and (1,).");
  CHECK(refused([&] {
          scale_and_translate(image, {4, 6, 3}, ops::ones({1}), ops::ones({1}), {1}, "lanczos");
        }).starts_with("scale_and_translate: unknown method 'lanczos'."));
}

TEST_CASE("sizes that no memory has room for are refused") {
  for (const char* interpolation : {"bilinear", "bicubic", "lanczos3", "nearest"}) {
    const std::string text = message_of<ResourceExhausted>([&] {
      resize(ops::ones({4, 4, 1}), {int64_t{1} << 45, 4}, {.interpolation = interpolation});
    });
    CHECK(text.find("Out of memory") != std::string::npos);
  }
}

}  // namespace
}  // namespace cornu::testing
