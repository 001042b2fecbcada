// SPDX-License-Identifier: Apache-2.0
// Image layers compared with real Keras. For random layers, either the range has a single number,
// or the transformation is compared for given random values.
#include <doctest/doctest.h>

#include <optional>

#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_crops.h"
#include "layers/preprocessing/image_transforms.h"
#include "tests/golden/golden.h"

using namespace cornu;
using cornu::test::golden_tensor;

namespace {

constexpr test::Tolerance kClose = {.relative = 2e-5, .absolute = 2e-5};

// One number per image.
Tensor numbers(const Json& values) {
  const Tensor all = golden_tensor(values);
  return ops::reshape(all, {all.size(), 1, 1, 1});
}

layers::Bounds range_of(const Json& config) {
  const Json& range = config.at("value_range");
  return {range[0].as_double(), range[1].as_double()};
}

// The colors transformed with the drawn values, if these are for colors.
std::optional<Tensor> with_drawn_colors(const Json& item, const Tensor& pictures) {
  const Json& config = item.at("object").at("config");
  const Tensor x = ops::cast(pictures, DType::Float32);
  if (const Json* turns = item.find("factor")) {
    return layers::adjust_hue(x, numbers(*turns), range_of(config));
  }
  if (const Json* shifts = item.find("shift_factor")) {
    const Tensor bits = 8 - ops::cast(numbers(*shifts), DType::Int32);
    return layers::posterize(x, bits, range_of(config));
  }
  if (const Json* additions = item.find("additions")) {
    return layers::solarize(x, numbers(*additions), numbers(item.at("thresholds")),
                            range_of(config));
  }
  if (const Json* chosen = item.find("chosen")) {
    return ops::where(golden_tensor(*chosen), ops::image::rgb_to_grayscale(x), x);
  }
  return {};
}

// The pixels moved with the drawn values, if these are for positions.
std::optional<Tensor> with_drawn_places(const Json& item, const Tensor& x) {
  const Json& config = item.at("object").at("config");
  const auto moved = [&](const Tensor& transforms, const std::string& fill_mode) {
    return ops::image::affine_transform(x, transforms,
                                        {.interpolation = config.at("interpolation").as_string(),
                                         .fill_mode = fill_mode,
                                         .fill_value = config.at("fill_value").as_double()});
  };
  if (const Json* both = item.find("shear_factor")) {
    const std::vector<Tensor> factors = ops::split(golden_tensor(*both), 2, 1);
    return moved(layers::shears(factors[0], factors[1]), config.at("fill_mode").as_string());
  }
  if (const Json* points = item.find("start_points")) {
    return ops::image::perspective_transform(
        x, golden_tensor(*points), golden_tensor(item.at("end_points")),
        {.interpolation = config.at("interpolation").as_string(),
         .fill_value = config.at("fill_value").as_double()});
  }
  if (const Json* scale = item.find("distortion_factor")) {
    const Tensor distorted = layers::distort(
        x, golden_tensor(item.at("right")), golden_tensor(item.at("down")), golden_tensor(*scale),
        {.largest = config.at("scale")[1].as_double(),
         .interpolation = config.at("interpolation").as_string(),
         .fill_mode = config.at("fill_mode").as_string(),
         .fill_value = config.at("fill_value").as_double()});
    return ops::clip(ops::where(numbers(item.at("apply_transform")), distorted, x),
                     range_of(config).lower, range_of(config).upper);
  }
  return {};
}

Tensor with_drawn(const Json& item, const Tensor& x) {
  if (std::optional<Tensor> places = with_drawn_places(item, x)) return *places;
  if (std::optional<Tensor> colors = with_drawn_colors(item, x)) return *colors;
  const Json& config = item.at("object").at("config");
  if (const Json* flips = item.find("flips")) {
    const std::string& mode = config.at("mode").as_string();
    return layers::flip_images(x, golden_tensor(*flips), mode != "vertical", mode != "horizontal");
  }
  if (const Json* factor = item.find("contrast_factor")) {
    const Json& range = config.at("value_range");
    return layers::adjust_contrast(x, golden_tensor(*factor), range[0].as_double(),
                                   range[1].as_double());
  }
  const Json& place = item.at("place");
  return layers::crop_images(x, Tensor::scalar(static_cast<int32_t>(place[0].as_int())),
                             Tensor::scalar(static_cast<int32_t>(place[1].as_int())),
                             {config.at("height").as_int(), config.at("width").as_int()});
}

}  // namespace

TEST_CASE("layers of pictures are Keras's") {
  for (const Json& item : test::golden_cases("image_layers").as_array()) {
    CAPTURE(item.at("name").as_string());
    const LayerHandle layer = layer_from_json(item.at("object"));
    CHECK(test::difference(serialize_layer(layer.get()), item.at("object")) == "");
    const Tensor x = golden_tensor(item.at("input"));
    const Tensor y = item.at("drawn").as_bool()
                         ? with_drawn(item, x)
                         : Tensor(layer(x, {.training = item.at("training").as_bool()}));
    CHECK(to_string(y.dtype()) == item.at("output").at("dtype").as_string());
    CHECK(test::difference(y, item.at("output"), kClose) == "");
  }
}
