// SPDX-License-Identifier: Apache-2.0
// Image layers on dictionaries: masks and boxes follow the pixels, labels are mixed, and errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

constexpr int64_t kBatch = 6, kHeight = 40, kWidth = 60;
constexpr char kBoxes[] = "bounding_boxes/boxes", kBoxLabels[] = "bounding_boxes/labels";
constexpr char kMasks[] = "segmentation_masks";

// Images of one rectangle of ones each. Masks are the same, and boxes are around them.
Tensors rectangles() {
  std::vector<float> pixels(kBatch * kHeight * kWidth), boxes;
  for (int64_t i = 0; i < kBatch; ++i) {
    const int64_t left = 18 + i, top = 12 + i, right = 34 + i, bottom = 20 + 2 * i;
    for (int64_t y = top; y < bottom; ++y) {
      std::fill_n(pixels.begin() + (i * kHeight + y) * kWidth + left, right - left, 1.0f);
    }
    for (const int64_t edge : {left, top, right, bottom}) {
      boxes.push_back(static_cast<float>(edge));
    }
  }
  const Tensor images = Tensor::from(pixels, {kBatch, kHeight, kWidth, 1});
  return Tensors::named({{kBoxes, Tensor::from(boxes, {kBatch, 1, 4})},
                         {kBoxLabels, ops::full({kBatch, 1}, 7, DType::Int32)},
                         {"images", images},
                         {"labels", ops::arange(0, kBatch, 1, DType::Int32)},
                         {kMasks, ops::cast(images, DType::Int32)}});
}

Tensors without(const Tensors& data, const std::string& name) {
  std::vector<Tensors::Named> rest;
  for (size_t i = 0; i < data.size(); ++i) {
    if (data.names()[i] != name) rest.emplace_back(data.names()[i], data[i]);
  }
  return Tensors::named(std::move(rest));
}

Tensors with(const Tensors& data, const std::string& name, const Tensor& value) {
  std::vector<Tensors::Named> all = {{name, value}};
  for (size_t i = 0; i < data.size(); ++i) {
    if (data.names()[i] != name) all.emplace_back(data.names()[i], data[i]);
  }
  return Tensors::named(std::move(all));
}

// The box around the pixels of image i that aren't zero.
std::vector<int64_t> box_of_pixels(const Tensor& masks, int64_t i) {
  const int64_t height = masks.dim(1), width = masks.dim(2);
  const auto values = masks.rows(i, i + 1).to_vector<int32_t>();
  std::vector<int64_t> box = {width, height, 0, 0};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      if (values[static_cast<size_t>(y * width + x)] == 0) continue;
      box = {std::min(box[0], x), std::min(box[1], y), std::max(box[2], x + 1),
             std::max(box[3], y + 1)};
    }
  }
  return box;
}

// Checks that boxes are around the masks, to this number of pixels.
void check_boxes(const Tensors& data, double pixels) {
  const auto boxes = data.at(kBoxes).to_vector<float>();
  for (int64_t i = 0; i < data.at(kMasks).dim(0); ++i) {
    const std::vector<int64_t> wanted = box_of_pixels(data.at(kMasks), i);
    for (size_t edge = 0; edge < 4; ++edge) {
      const double got = boxes[static_cast<size_t>(i) * 4 + edge];
      const double difference = std::abs(got - static_cast<double>(wanted[edge]));
      INFO("image " << i << ", edge " << edge << ": " << got << " beside " << wanted[edge]);
      CHECK(difference <= pixels + 1e-4);
    }
  }
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && ops::all(a == b).item<bool>();
}

struct MovingCase {
  const char* name;
  LayerHandle layer;
  double pixels;  // how far a box may be from its mask
};

std::vector<MovingCase> moving_cases() {
  using namespace layers;  // NOLINT
  const std::string fill = "constant", nearest = "nearest", boxes = "xyxy";
  return {
      {"flip", RandomFlip({.seed = 1, .bounding_box_format = boxes}), 0},
      {"flip up", RandomFlip({.mode = "vertical", .seed = 2, .bounding_box_format = boxes}), 0},
      {"translation",
       RandomTranslation({.height_factor = 0.2,
                          .width_factor = 0.3,
                          .fill_mode = fill,
                          .interpolation = nearest,
                          .seed = 3,
                          .bounding_box_format = boxes}),
       0.5},
      {"rotation",
       RandomRotation({.factor = 0.1,
                       .fill_mode = fill,
                       .interpolation = nearest,
                       .seed = 4,
                       .bounding_box_format = boxes}),
       1.5},
      {"zoom",
       RandomZoom({.height_factor = {-0.3, 0.5},
                   .width_factor = {-0.2, 0.6},
                   .fill_mode = fill,
                   .interpolation = nearest,
                   .seed = 5,
                   .bounding_box_format = boxes}),
       1},
      {"shear",
       RandomShear({.x_factor = 0.3,
                    .y_factor = 0.2,
                    .interpolation = nearest,
                    .fill_mode = fill,
                    .bounding_box_format = boxes,
                    .seed = 6}),
       1.5},
      {"perspective",
       RandomPerspective({.factor = 0.9,
                          .scale = 0.4,
                          .interpolation = nearest,
                          .seed = 7,
                          .bounding_box_format = boxes}),
       1.5},
      {"crop", RandomCrop({.height = 36, .width = 50, .seed = 8, .bounding_box_format = boxes}), 0},
      {"center crop", CenterCrop({.height = 30, .width = 44, .bounding_box_format = boxes}), 0},
      {"resizing",
       Resizing(
           {.height = 80, .width = 90, .interpolation = nearest, .bounding_box_format = boxes}),
       1},
      {"resizing, padded",
       Resizing({.height = 80,
                 .width = 90,
                 .interpolation = nearest,
                 .pad_to_aspect_ratio = true,
                 .bounding_box_format = boxes}),
       1},
      {"resizing, cropped",
       Resizing({.height = 80,
                 .width = 90,
                 .interpolation = nearest,
                 .crop_to_aspect_ratio = true,
                 .bounding_box_format = boxes}),
       1},
  };
}

}  // namespace

TEST_CASE("masks and boxes follow the pixels") {
  const Tensors data = rectangles();
  for (const MovingCase& item : moving_cases()) {
    CAPTURE(item.name);
    const Tensors result = item.layer(data, {.training = true});
    CHECK(result.names() == data.names());
    CHECK(same(ops::cast(result.at(kMasks), DType::Float32), result.at("images")));
    CHECK(result.at(kMasks).dtype() == DType::Int32);
    CHECK(same(result.at(kBoxLabels), data.at(kBoxLabels)));
    CHECK(same(result.at("labels"), data.at("labels")));
    check_boxes(result, item.pixels);
  }
}

TEST_CASE("dictionaries of one image, of channels first, of flags and in steps") {
  const Tensors data = rectangles();
  layers::RandomFlip flip({.seed = 3, .bounding_box_format = "xywh"});
  const Tensors one = {{"images", data.at("images")[0]},
                       {kBoxes, Tensor::from<float>({18, 12, 16, 8}, {1, 4})},
                       {kBoxLabels, Tensor::from<int32_t>({1}, {1})},
                       {kMasks, ops::cast(data.at(kMasks)[0], DType::Bool)}};
  for (int i = 0; i < 4; ++i) {
    const Tensors flipped = flip(one, {.training = true});
    CHECK(flipped.at(kMasks).dtype() == DType::Bool);
    CHECK(same(ops::cast(flipped.at(kMasks), DType::Float32), flipped.at("images")));
    const auto box = flipped.at(kBoxes).to_vector<float>();
    const bool moved = box[0] != 18;
    CHECK(box == (moved ? std::vector<float>{26, 20, 16, 8} : std::vector<float>{18, 12, 16, 8}));
  }

  layers::RandomTranslation first({.height_factor = {0.25, 0.25},
                                   .width_factor = {0.1, 0.1},
                                   .fill_mode = "constant",
                                   .data_format = "channels_first",
                                   .bounding_box_format = "xyxy"});
  const Tensors across = with(with(data, "images", ops::transpose(data.at("images"), {0, 3, 1, 2})),
                              kMasks, ops::transpose(data.at(kMasks), {0, 3, 1, 2}));
  const Tensors moved = first(across, {.training = true});
  CHECK(moved.at("images").shape() == Shape{kBatch, 1, kHeight, kWidth});
  CHECK(same(moved.at(kBoxes), data.at(kBoxes) + Tensor::from<float>({6, 10, 6, 10})));
  check_boxes(with(moved, kMasks, ops::transpose(moved.at(kMasks), {0, 2, 3, 1})), 0);

  // A compiled call draws the same, and again with the next numbers.
  layers::RandomRotation eager({.factor = 0.2, .seed = 5, .bounding_box_format = "rel_xyxy"});
  layers::RandomRotation compiled({.factor = 0.2, .seed = 5, .bounding_box_format = "rel_xyxy"});
  const Function step = function([&](const Tensors& x) { return compiled(x, {.training = true}); });
  for (int i = 0; i < 2; ++i) {
    const Tensors a = eager(data, {.training = true}), b = step(data);
    for (const std::string& name : data.names()) {
      CAPTURE(name);
      CHECK(ops::max(ops::abs(ops::cast(a.at(name), DType::Float32) -
                              ops::cast(b.at(name), DType::Float32)))
                .item<float>() < 1e-4f);
    }
  }
}

TEST_CASE("what stays: colors' masks and boxes, other entries, and all in inference") {
  const Tensors data = with(rectangles(), "path", ops::zeros({3, 2}));
  layers::RandomBrightness brightness({.factor = {0.5, 0.5}, .bounding_box_format = "xyxy"});
  const Tensors brighter = brightness(data, {.training = true});
  CHECK_FALSE(same(brighter.at("images"), data.at("images")));
  layers::RandomZoom zoom({.height_factor = 0.4, .bounding_box_format = "yxyx"});
  const Tensors still = zoom(data, {.training = false});
  CHECK(same(still.at("images"), data.at("images")));
  for (const std::string& name : {std::string(kBoxes), std::string(kBoxLabels), std::string(kMasks),
                                  std::string("labels"), std::string("path")}) {
    CAPTURE(name);
    CHECK(same(brighter.at(name), data.at(name)));
    CHECK(same(still.at(name), data.at(name)));
  }
  // Without a flag, layers are in training.
  CHECK_FALSE(same(Tensors(zoom(data)).at("images"), data.at("images")));
}

TEST_CASE("boxes of which nothing is left have the label -1") {
  const Tensors data = rectangles();
  layers::RandomTranslation away({.height_factor = {-0.5, -0.5},
                                  .width_factor = {0, 0},
                                  .fill_mode = "constant",
                                  .bounding_box_format = "xyxy"});
  const Tensors gone = away(data, {.training = true});
  // Twenty rows up: images 0 and on end at the rows 20, 22, 24 and so on.
  CHECK(gone.at(kBoxLabels).to_vector<int32_t>() == std::vector<int32_t>{-1, 7, 7, 7, 7, 7});
  CHECK(gone.at(kBoxes).rows(1, 2).to_vector<float>() == std::vector<float>{19, 0, 35, 2});
  // Classes of boxes, too.
  const Tensors classes = with(data, kBoxLabels, ops::ones({kBatch, 1, 3}));
  const Tensors none = away(classes, {.training = true});
  CHECK(none.at(kBoxLabels).rows(0, 2).to_vector<float>() ==
        std::vector<float>{-1, -1, -1, 1, 1, 1});
}

TEST_CASE("boxes of resized images: padding in any format, and whole pixels at the beginning") {
  const auto resized = [](const layers::ResizingOptions& options, int64_t height, int64_t width,
                          const std::vector<float>& boxes) {
    const auto count = static_cast<int64_t>(boxes.size()) / 4;
    const Tensors result =
        layers::Resizing(options)(Tensors{{"images", ops::zeros({height, width, 3})},
                                          {kBoxes, Tensor::from(boxes, {count, 4})},
                                          {kBoxLabels, ops::zeros({count}, DType::Int32)}});
    return result.at(kBoxes).to_vector<float>();
  };
  for (const char* format : {"xywh", "center_xywh", "rel_xyxy", "rel_center_xywh"}) {
    CAPTURE(format);
    const auto boxes = resized(
        {.height = 80, .width = 40, .pad_to_aspect_ratio = true, .bounding_box_format = format}, 10,
        20, {-1, -1, -1, -1, 0, 0, 0, 0});
    CHECK(boxes == std::vector<float>(8, 0));
  }
  // Half of 448 - 224 and of 224 - 112 pixels, which fractions in floating point miss.
  const auto cropped = resized(
      {.height = 224, .width = 224, .crop_to_aspect_ratio = true, .bounding_box_format = "xyxy"},
      20, 90, {36, 2, 54, 18});
  CHECK(cropped[0] == doctest::Approx(36 * 11.2 - 392));
  const auto padded = resized(
      {.height = 224, .width = 224, .pad_to_aspect_ratio = true, .bounding_box_format = "xyxy"},
      101, 202, {0, 0, 202, 101});
  CHECK(padded[1] == doctest::Approx(56));
  CHECK(padded[3] == doctest::Approx(168));
}

TEST_CASE("mixed images have mixed labels and masks, and both images' boxes") {
  Tensors data = rectangles();
  data = with(data, "labels", ops::one_hot(data.at("labels"), kBatch));
  layers::MixUp mix({.bounding_box_format = "xyxy", .seed = 2});
  const Tensors mixed = mix(data, {.training = true});
  CHECK(mixed.at(kBoxes).shape() == Shape{kBatch, 2, 4});
  CHECK(mixed.at(kBoxLabels).shape() == Shape{kBatch, 2});
  CHECK(same(mixed.at(kMasks), mixed.at("images")));
  const auto labels = mixed.at("labels").to_vector<float>();
  const auto boxes = mixed.at(kBoxes).to_vector<float>();
  for (size_t i = 0; i < kBatch; ++i) {
    // The second box is that of the image whose label was mixed in.
    const auto other = static_cast<size_t>(boxes[i * 8 + 4] - 18);
    CHECK(boxes[i * 8] == 18 + static_cast<float>(i));
    CHECK((other == i || labels[i * kBatch + other] > 0));
  }

  // Flags are mixed, too; in inference, only dtypes change.
  const Tensors flags = with(data, kMasks, ops::cast(data.at(kMasks), DType::Bool));
  layers::MixUp again({.bounding_box_format = "xyxy", .seed = 2});
  CHECK(same(Tensors(again(flags, {.training = true})).at(kMasks), mixed.at(kMasks)));
  const Tensors still =
      again(with(flags, "labels", ops::zeros({kBatch}, DType::Int32)), {.training = false});
  CHECK(still.at(kMasks).dtype() == DType::Float32);
  CHECK(still.at("labels").dtype() == DType::Float32);

  layers::CutMix cut({.seed = 2, .bounding_box_format = "xyxy"});
  const Tensors parts = cut(without(without(data, kBoxes), kBoxLabels), {.training = true});
  CHECK(same(ops::cast(parts.at(kMasks), DType::Float32), parts.at("images")));
  CHECK(parts.at(kMasks).dtype() == DType::Int32);
}

TEST_CASE("RandAugment moves masks and boxes by the same operations") {
  const Tensors data = rectangles();
  layers::RandAugment augment({.value_range = {0, 1},
                               .num_ops = 1,
                               .factor = 0.05,
                               .interpolation = "nearest",
                               .seed = 4,
                               .bounding_box_format = "xyxy"});
  int moved = 0;
  for (int i = 0; i < 12; ++i) {
    const Tensors result = augment(data, {.training = true});
    check_boxes(result, 1.5);
    moved += !same(result.at(kBoxes), data.at(kBoxes));
  }
  CHECK(moved > 3);
  CHECK(moved < 12);
}

TEST_CASE("what RandAugment moved out of the image doesn't come back") {
  // With this seed, the second operation moves the box out of the image, and the third back to
  // where other pixels are by then.
  layers::RandAugment augment({.value_range = {0, 1},
                               .num_ops = 3,
                               .factor = 0.5,
                               .interpolation = "nearest",
                               .seed = 30,
                               .bounding_box_format = "xyxy"});
  const Tensors result = augment(Tensors{{"images", ops::zeros({32, 32, 1})},
                                         {kBoxes, Tensor::from<float>({0, 24, 8, 32}, {1, 4})},
                                         {kBoxLabels, ops::full({1}, 12, DType::Int32)}},
                                 {.training = true});
  CHECK(result.at(kBoxLabels).item<int32_t>() == -1);
}

TEST_CASE("images with a name of their own are images") {
  const Tensor x = ops::ones({2, 8, 8, 1});
  layers::RandomZoom zoom({.height_factor = {0.5, 0.5}, .fill_mode = "constant"});
  const Tensor plain = zoom(x, {.training = true});
  CHECK(same(zoom(Tensors::named({{"pic", x}}), {.training = true}), plain));
  layers::MixUp mix({.seed = 1});
  CHECK(mix(Tensors::named({{"pic", x}}), {.training = false}).shape() == x.shape());
}

TEST_CASE("dictionaries in a dataset's map, by rows and by batches, through a pipeline") {
  const Tensors data = rectangles();
  layers::Pipeline pipeline(
      {layers::RandomFlip({.seed = 1, .bounding_box_format = "xyxy"}),
       layers::RandomCrop({.height = 36, .width = 50, .seed = 2, .bounding_box_format = "xyxy"}),
       layers::MaxNumBoundingBoxes({.max_number = 1})});
  const auto rows = data::Dataset::from_tensor_slices(data::Element(data));
  for (const auto& dataset : {rows.map(pipeline).batch(kBatch), rows.batch(kBatch).map(pipeline)}) {
    int64_t seen = 0;
    for (const auto& element : dataset) {
      const Tensors batch = element[0];
      CHECK(batch.at("images").shape() == Shape{kBatch, 36, 50, 1});
      check_boxes(batch, 0);
      ++seen;
    }
    CHECK(seen == 1);
  }
}

TEST_CASE("elastic transforms move masks") {
  const Tensors data = without(without(rectangles(), kBoxes), kBoxLabels);
  layers::RandomElasticTransform elastic({.factor = {1.0, 1.0},
                                          .scale = {0.5, 0.5},
                                          .interpolation = "nearest",
                                          .fill_mode = "constant",
                                          .value_range = {0, 1},
                                          .seed = 2});
  const Tensors result = elastic(data, {.training = true});
  CHECK(same(ops::cast(result.at(kMasks), DType::Float32), result.at("images")));
  CHECK_FALSE(same(result.at("images"), data.at("images")));
}

TEST_CASE("dictionaries that make no sense") {
  const Tensors data = rectangles();
  const layers::RandomFlip flip({.bounding_box_format = "xyxy", .name = "f"});
  const auto refused = [&](const LayerHandle& layer, const Tensors& x) {
    return error_of([&] { layer(x, {.training = true}); });
  };
  CHECK(refused(flip, without(data, "images")) ==
        "InvalidArgument: RandomFlip 'f': expected a dictionary with 'images', got the names "
        "bounding_boxes/boxes, bounding_boxes/labels, labels, segmentation_masks.");
  CHECK(refused(layers::RandomFlip({.name = "f"}), data) ==
        "InvalidArgument: RandomFlip 'f': expected a bounding_box_format, \"xyxy\" or another, for "
        "'bounding_boxes/boxes'.");
  CHECK(error_of([] { layers::RandomFlip({.bounding_box_format = "xyxz", .name = "f"}); }) ==
        "InvalidArgument: RandomFlip 'f': unknown bounding box format 'xyxz'. Did you mean 'xyxy'? "
        "Known: xyxy, yxyx, xywh, center_xywh, center_yxhw, rel_xyxy, rel_yxyx, rel_xywh, "
        "rel_center_xywh.");
  CHECK(refused(flip, without(data, kBoxLabels)) ==
        "InvalidArgument: RandomFlip 'f': expected both 'bounding_boxes/boxes' and "
        "'bounding_boxes/labels', or none of them.");
  CHECK(refused(flip, with(data, kBoxLabels, ops::zeros({kBatch, 2}))) ==
        "InvalidArgument: RandomFlip 'f': expected 'bounding_boxes/labels' (6, 1), as there are "
        "boxes, got (6, 2).");
  CHECK(refused(flip,
                with(with(data, kBoxes, ops::zeros({2, 1, 4})), kBoxLabels, ops::zeros({2, 1}))) ==
        "InvalidArgument: RandomFlip 'f': expected 'bounding_boxes/boxes' for as many images as "
        "there are, (6, 40, 60, 1), got (2, 1, 4).");
  CHECK(refused(flip, with(data, kMasks, ops::zeros({kBatch, kHeight, kWidth}))) ==
        "InvalidArgument: RandomFlip 'f': expected 'segmentation_masks' of the images' shape (6, "
        "40, 60, 1), but for the channels, got (6, 40, 60).");
  CHECK(refused(flip, with(data, kMasks, ops::zeros({kBatch, kWidth, kHeight, 1}))) ==
        "InvalidArgument: RandomFlip 'f': expected 'segmentation_masks' of the images' shape (6, "
        "40, 60, 1), but for the channels, got (6, 60, 40, 1).");
  CHECK(refused(layers::MixUp({.bounding_box_format = "xyxy", .name = "m"}),
                with(data, "labels", ops::zeros({2, 3}))) ==
        "InvalidArgument: MixUp 'm': expected 'labels' for as many images as there are, (6, 40, "
        "60, 1), got (2, 3).");
  CHECK(refused(layers::CutMix({.bounding_box_format = "xyxy", .name = "c"}), data) ==
        "Unimplemented: CutMix 'c': boxes of images with parts of others aren't defined. Remove "
        "'bounding_boxes/boxes' from the dictionary.");
  CHECK(
      refused(layers::RandomElasticTransform({.bounding_box_format = "xyxy", .name = "e"}), data) ==
      "Unimplemented: RandomElasticTransform 'e': bounding boxes don't move with pixels that each "
      "move differently. Remove 'bounding_boxes/boxes' from the dictionary.");
}
