// SPDX-License-Identifier: Apache-2.0
// Layers of functional models that take and return dictionaries, in Keras's configs.
#include <doctest/doctest.h>

#include "framework/core/json.h"
#include "framework/model/dictionary_paths.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"

using namespace cornu;

namespace {

// As Keras 3.15 writes the call of a layer on a nested dictionary: its entries are nested, in any
// order.
constexpr char kCall[] = R"([{"args": [{
  "segmentation_masks": {"class_name": "__keras_tensor__", "config":
      {"shape": [null, 4, 4, 1], "dtype": "float32", "keras_history": ["seg", 0, 0]}},
  "images": {"class_name": "__keras_tensor__", "config":
      {"shape": [null, 4, 4, 1], "dtype": "float32", "keras_history": ["img", 0, 0]}},
  "bounding_boxes": {
    "labels": {"class_name": "__keras_tensor__", "config":
        {"shape": [null, 1], "dtype": "float32", "keras_history": ["lab", 0, 0]}},
    "boxes": {"class_name": "__keras_tensor__", "config":
        {"shape": [null, 1, 4], "dtype": "float32", "keras_history": ["box", 0, 0]}}}}],
  "kwargs": {"training": true}}])";
// And the model's outputs: a layer's are numbered in the order of their sorted keys.
constexpr char kOutputs[] = R"(
  {"om": ["flip", 0, 3], "oi": ["flip", 0, 2], "ob": ["flip", 0, 0], "ol": ["flip", 0, 1]})";

Model model_of_dictionaries() {
  const Tensor seg = Input({.shape = Shape{4, 4, 1}, .name = "seg"});
  const Tensor img = Input({.shape = Shape{4, 4, 1}, .name = "img"});
  const Tensor box = Input({.shape = Shape{1, 4}, .name = "box"});
  const Tensor lab = Input({.shape = Shape{1}, .name = "lab"});
  const Tensors moved =
      layers::RandomFlip({.seed = 1, .bounding_box_format = "xyxy", .name = "flip"})(
          Tensors{{"segmentation_masks", seg},
                  {"images", img},
                  {"bounding_boxes/labels", lab},
                  {"bounding_boxes/boxes", box}});
  return Model(Tensors{{"seg", seg}, {"img", img}, {"box", box}, {"lab", lab}},
               Tensors{{"om", moved.at("segmentation_masks")},
                       {"oi", moved.at("images")},
                       {"ob", moved.at("bounding_boxes/boxes")},
                       {"ol", moved.at("bounding_boxes/labels")}});
}

void check_outputs(Model model) {
  const Tensors y = model.predict(Tensors{{"seg", ops::full({1, 4, 4, 1}, 1.0f)},
                                          {"img", ops::full({1, 4, 4, 1}, 2.0f)},
                                          {"box", ops::full({1, 1, 4}, 3.0f)},
                                          {"lab", ops::full({1, 1}, 4.0f)}});
  CHECK(ops::all(y.at("om") == 1).item<bool>());
  CHECK(ops::all(y.at("oi") == 2).item<bool>());
  CHECK(ops::all(y.at("ob") == 3).item<bool>());
  CHECK(ops::all(y.at("ol") == 4).item<bool>());
}

}  // namespace

TEST_CASE("dictionaries of layers are nested in configs, and their outputs numbered as Keras's") {
  Model model = model_of_dictionaries();
  const Json json = Json::parse(model.to_json());
  const Json& config = json.at("config");
  CHECK(config.at("output_layers") == Json::parse(kOutputs));
  size_t layers = 0;
  for (const Json& layer : config.at("layers").as_array()) {
    if (layer.at("name").as_string() != "flip") continue;
    CHECK(layer.at("inbound_nodes")[0].at("args") == Json::parse(kCall)[0].at("args"));
    ++layers;
  }
  CHECK(layers == 1);
  check_outputs(model);
  check_outputs(model_from_json(model.to_json()));
}

TEST_CASE("entries of nested dictionaries have numbers in the order of their keys") {
  const std::vector<std::string> paths = {"b", "a/z", "a-", "a/b/c", "a/b-"};
  // a: b: c, b-, z; then a-, then b.
  const std::vector<size_t> numbers = {4, 2, 3, 0, 1};
  for (size_t i = 0; i < paths.size(); ++i) {
    CHECK(number_of_entry(paths, i) == numbers[i]);
    CHECK(place_of_entry(paths, numbers[i]) == i);
  }
  CHECK(number_of_entry({}, 3) == 3);
  CHECK(place_of_entry({}, 3) == 3);
  CHECK(nested_object({"b", "a/z", "a/y"}, {1, 2, 3}) ==
        Json::parse(R"({"b": 1, "a": {"z": 2, "y": 3}})"));
}
