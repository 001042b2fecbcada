// SPDX-License-Identifier: Apache-2.0
// Functions on bounding boxes, and image layers on dictionaries, compared with real Keras.
#include "framework/ops/bounding_boxes.h"

#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "tests/golden/golden.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensor;

namespace {

constexpr test::Tolerance kClose = {.relative = 2e-5, .absolute = 2e-5};
// Keras transforms boxes by formulas that round differently.
constexpr test::Tolerance kCloseInPixels = {.relative = 2e-5, .absolute = 1e-4};

// The arguments of one call of a function of Keras.
class Arguments {
 public:
  explicit Arguments(const Json& item)
      : arguments_(item.at("arguments")), inputs_(item.at("inputs")) {}

  Tensor in(size_t i) const { return golden_tensor(inputs_[i]); }
  std::string text(const char* name, const char* otherwise = "") const {
    const Json* found = arguments_.find(name);
    return found ? found->as_string() : otherwise;
  }
  double number(const char* name, double otherwise = 0) const {
    const Json* found = arguments_.find(name);
    return found ? found->as_double() : otherwise;
  }
  std::vector<double> numbers(const char* name) const {
    std::vector<double> result;
    if (const Json* found = arguments_.find(name)) {
      for (const Json& value : found->as_array()) result.push_back(value.as_double());
    }
    return result;
  }
  Tensor tensor(const char* name) const {
    const std::vector<double> given = numbers(name);
    return Tensor::from(std::vector<float>(given.begin(), given.end()));
  }
  bool flag(const char* name) const {
    const Json* found = arguments_.find(name);
    return found && found->as_bool();
  }
  bounding_boxes::ImageSize size() const {
    const std::vector<double> shape = numbers("image_shape");
    if (!shape.empty()) return {{shape[0], shape[1]}};
    if (!arguments_.contains("height")) return {};
    return {{number("height"), number("width")}};
  }

 private:
  const Json& arguments_;
  const Json& inputs_;
};

bounding_boxes::DeltaOptions delta_options(const Arguments& a, const char* format) {
  return {.encoding_format = a.text(format, "center_yxhw"),
          .variance = a.numbers("variance"),
          .image_size = a.size()};
}

using Function = std::function<bounding_boxes::BoundingBoxes(const Arguments&)>;

const std::map<std::string, Function>& functions() {
  using namespace bounding_boxes;
  static const std::map<std::string, Function> table = {
      {"convert_format",
       [](const Arguments& a) -> BoundingBoxes {
         return {convert_format(
             a.in(0), a.text("source"), a.text("target"),
             {.image_size = a.size(), .dtype = dtype_from_string(a.text("dtype", "float32"))})};
       }},
      {"clip_to_image_size",
       [](const Arguments& a) {
         return clip_to_image_size(
             {a.in(0), a.in(1)},
             {.image_size = a.size(), .bounding_box_format = a.text("bounding_box_format")});
       }},
      {"affine_transform",
       [](const Arguments& a) -> BoundingBoxes {
         return {
             bounding_boxes::affine_transform(a.in(0), {.image_size = *a.size(),
                                                        .angle = a.tensor("angle"),
                                                        .translate_x = a.tensor("translate_x"),
                                                        .translate_y = a.tensor("translate_y"),
                                                        .scale = a.tensor("scale"),
                                                        .shear_x = a.tensor("shear_x"),
                                                        .shear_y = a.tensor("shear_y"),
                                                        .center_x = a.number("center_x", 0.5),
                                                        .center_y = a.number("center_y", 0.5)})};
       }},
      {"crop",
       [](const Arguments& a) -> BoundingBoxes {
         return {crop(a.in(0), a.number("top"), a.number("left"), a.number("height"),
                      a.number("width"))};
       }},
      {"pad",
       [](const Arguments& a) -> BoundingBoxes {
         return {pad(a.in(0), a.number("top"), a.number("left"))};
       }},
      {"compute_iou",
       [](const Arguments& a) -> BoundingBoxes {
         return {compute_iou(a.in(0), a.in(1), a.text("bounding_box_format"),
                             {.use_masking = a.flag("use_masking"),
                              .mask_val = a.number("mask_val", -1),
                              .image_size = a.size()})};
       }},
      {"compute_ciou",
       [](const Arguments& a) -> BoundingBoxes {
         return {compute_ciou(a.in(0), a.in(1), a.text("bounding_box_format"))};
       }},
      {"encode_box_to_deltas",
       [](const Arguments& a) -> BoundingBoxes {
         return {encode_box_to_deltas(a.in(0), a.in(1), a.text("anchor_format"),
                                      a.text("box_format"), delta_options(a, "encoding_format"))};
       }},
      {"decode_deltas_to_boxes",
       [](const Arguments& a) -> BoundingBoxes {
         return {decode_deltas_to_boxes(a.in(0), a.in(1), a.text("anchor_format"),
                                        a.text("box_format"), delta_options(a, "encoded_format"))};
       }},
  };
  return table;
}

}  // namespace

TEST_CASE("functions on bounding boxes are Keras's") {
  size_t calls = 0;
  for (const Json& item : test::golden_cases("bounding_boxes").as_array()) {
    if (!item.contains("function")) continue;
    CAPTURE(item.at("name").as_string());
    const auto result = functions().at(item.at("function").as_string())(Arguments(item));
    CHECK(to_string(result.boxes.dtype()) == item.at("output").at("dtype").as_string());
    CHECK(difference(result.boxes, item.at("output"), kClose) == "");
    if (const Json* labels = item.find("labels"))
      CHECK(difference(result.labels, *labels, {}) == "");
    ++calls;
  }
  CHECK(calls == 108);
}

TEST_CASE("functions on boxes of placeholders, and on what makes no sense") {
  namespace functions = bounding_boxes;
  const Tensor boxes = Input({.shape = Shape{3, 4}});
  CHECK(functions::affine_transform(boxes, {.image_size = {10, 20}, .angle = 30.0f}).shape() ==
        Shape{kUnknown, 3, 4});
  const Tensor one = Tensor::from<float>({1, 2, 3, 4}, {1, 4});
  CHECK(test::error_of([&] { functions::affine_transform(one, {}); }) ==
        "InvalidArgument: bounding_boxes::affine_transform: expected image_size, height and width "
        "in pixels, got 0 "
        "and 0.");
  CHECK(test::error_of([&] { functions::convert_format(one, "xyxy", "rel_xyxy"); }) ==
        "InvalidArgument: bounding_boxes::convert_format: 'xyxy' and 'rel_xyxy' differ by the "
        "image's size; "
        "expected image_size, height and width in pixels.");
  CHECK(test::error_of(
            [&] { functions::convert_format(one, "xyxy", "xywh", {.dtype = DType::Int32}); }) ==
        "InvalidArgument: bounding_boxes::convert_format: expected a floating-point dtype, got "
        "int32.");
  CHECK(test::error_of([&] {
          functions::pad(ops::zeros({2, 3}), 1, 1);
        }) == "InvalidArgument: bounding_boxes::pad: expected boxes (..., 4), got (2, 3).");
  CHECK(test::error_of([&] {
          functions::encode_box_to_deltas(one, one, "xyxy", "xyxy", {.variance = {1, 2}});
        }) ==
        "InvalidArgument: bounding_boxes::encode_box_to_deltas: expected variance of four numbers, "
        "got 2.");
}

TEST_CASE("image layers change dictionaries as Keras's do") {
  size_t layers = 0;
  for (const Json& item : test::golden_cases("bounding_boxes").as_array()) {
    if (item.contains("function")) continue;
    CAPTURE(item.at("name").as_string());
    const LayerHandle layer = layer_from_json(item.at("object"));
    CHECK(test::difference(serialize_layer(layer.get()), item.at("object")) == "");
    const Tensors given = test::golden_dictionary(item.at("inputs"));
    const Tensors result = layer(given, {.training = item.at("training").as_bool()});
    REQUIRE(result.size() == given.size());
    for (const auto& entry : item.at("outputs").as_object()) {
      const std::string& name = entry.first;
      const Json& wanted = entry.second;
      CAPTURE(name);
      CHECK(difference(result.at(name), wanted, kCloseInPixels) == "");
      const bool masks = name == "segmentation_masks";  // Keras's become floats
      CHECK(to_string(result.at(name).dtype()) ==
            (masks ? item.at("inputs").at(name) : wanted).at("dtype").as_string());
    }
    ++layers;
  }
  CHECK(layers > 25);
}
