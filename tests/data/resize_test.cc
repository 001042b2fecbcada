// SPDX-License-Identifier: Apache-2.0
// Resized images, compared with those of Keras's image_dataset_from_directory.
#include "data/readers/image/resize_image.h"

#include <doctest/doctest.h>

#include "tests/data/support.h"
#include "tests/golden/golden.h"

using namespace cornu;
using namespace cornu::testing;

namespace {

Tensor as_float(const Tensor& image) {
  Tensor result = Tensor::empty(image.shape(), DType::Float32);
  const auto from = image.data<uint8_t>();
  std::copy(from.begin(), from.end(), result.mutable_data<float>().begin());
  return result;
}

// The channels [0, count).
Tensor first_channels(const Tensor& image, int64_t count) {
  Tensor result = Tensor::empty({image.dim(0), image.dim(1), count}, image.dtype());
  const auto from = image.data<uint8_t>();
  const auto to = result.mutable_data<uint8_t>();
  for (size_t i = 0; i < to.size(); ++i) {
    const auto pixel = i / static_cast<size_t>(count);
    to[i] = from[pixel * static_cast<size_t>(image.dim(2)) + i % static_cast<size_t>(count)];
  }
  return result;
}

}  // namespace

TEST_CASE("every interpolation is TensorFlow's") {
  size_t cases = 0;
  for (const Json& item : test::golden_cases("images").as_array()) {
    if (item.at("kind").as_string() != "resize") continue;
    ++cases;
    CAPTURE(item.at("name").as_string());
    const Tensor image = test::golden_tensor(item.at("image"));
    const std::string& fit = item.at("fit").as_string();
    const data::ResizeImageOptions options{.interpolation = item.at("method").as_string(),
                                           .crop_to_aspect_ratio = fit == "crop",
                                           .pad_to_aspect_ratio = fit == "pad"};
    const std::pair size{item.at("size")[0].as_int(), item.at("size")[1].as_int()};
    const Tensor result = data::resize_image(image, size, options);
    CHECK(result.dtype() == DType::Float32);
    CHECK(test::difference(result, item.at("result"), {.absolute = 2e-3}) == "");
    // With other numbers of channels, and with floats.
    const auto all = data::resize_image(as_float(image), size, options).to_vector<float>();
    CHECK(all == result.to_vector<float>());
    for (const int64_t channels : {1, 2}) {
      const auto some =
          data::resize_image(first_channels(image, channels), size, options).to_vector<float>();
      bool same = true;
      for (size_t i = 0; i < some.size(); ++i) {
        const auto count = static_cast<size_t>(channels);
        same = same && std::abs(some[i] - all[i / count * 3 + i % count]) < 1e-3f;
      }
      CHECK(same);
    }
  }
  CHECK(cases > 100);
}

TEST_CASE("mistakes are named") {
  const Tensor image = Tensor::from(std::vector<uint8_t>(12), {2, 2, 3});
  CHECK(contains(message_of([&] {
                   data::resize_image(image, {2, 2}, {.interpolation = "area2"});
                 }),
                 "resize_image: unknown interpolation 'area2'. Did you mean 'area'?"));
  CHECK(message_of([&] {
          data::resize_image(image, {0, 2});
        }) == "resize_image: expected a size of at least (1, 1), got (0, 2).");
  CHECK(contains(message_of([&] {
                   data::resize_image(image.with_shape({12}), {2, 2});
                 }),
                 "expected uint8 or float32 (height, width, channels), got uint8 (12,)."));
  CHECK(contains(message_of([&] {
                   data::resize_image(image, {2, 2},
                                      {.crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true});
                 }),
                 "expected at most one of crop_to_aspect_ratio and pad_to_aspect_ratio"));
}
