// SPDX-License-Identifier: Apache-2.0
// Layers of pictures against real Keras. Those that draw are given one number only, or what they do
// with what they have drawn is compared.
#include <doctest/doctest.h>

#include "framework/model/layer_registry.h"
#include "layers/layers.h"
#include "layers/preprocessing/image_transforms.h"
#include "tests/golden/golden.h"

using namespace cornu;
using cornu::test::golden_tensor;

namespace {

constexpr test::Tolerance kClose = {.relative = 2e-5, .absolute = 2e-5};

Tensor with_drawn(const Json& item, const Tensor& x) {
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
    const bool drawn = item.find("flips") || item.find("contrast_factor") || item.find("place");
    const Tensor y =
        drawn ? with_drawn(item, x) : Tensor(layer(x, {.training = item.at("training").as_bool()}));
    CHECK(to_string(y.dtype()) == item.at("output").at("dtype").as_string());
    CHECK(test::difference(y, item.at("output"), kClose) == "");
  }
}
