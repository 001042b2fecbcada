// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/labeled_images.h"

#include <algorithm>

#include "framework/core/error.h"
#include "framework/ops/box_corners.h"
#include "framework/ops/ops.h"

namespace cornu::layers {
namespace {

bool has(const Tensors& entries, const char* name) {
  return std::count(entries.names().begin(), entries.names().end(), name) > 0;
}

std::pair<double, double> in_pixels(const ImageSize& size) {
  return {static_cast<double>(size.first), static_cast<double>(size.second)};
}

// Whether shapes are equal where both are known, but for one axis.
bool agree(const Shape& a, const Shape& b, int64_t except = -1) {
  if (a.rank() != b.rank()) return false;
  for (int64_t axis = 0; axis < a.rank(); ++axis) {
    const bool known = a[axis] != kUnknown && b[axis] != kUnknown;
    if (known && axis != except && a[axis] != b[axis]) return false;
  }
  return true;
}

Tensor numbers(double x, double y) {
  const auto first = static_cast<float>(x), second = static_cast<float>(y);
  return Tensor::from<float>({first, second, first, second});
}

}  // namespace

Change moving(const Move& move, const std::string& interpolation,
              const std::function<Tensor(const Tensor& boxes)>& move_boxes, ImageSize size) {
  return {
      .images = [=](const Tensor& images) { return move(images, interpolation); },
      .masks =
          [=](const Tensor& masks) {
            if (masks.dtype() != DType::Bool) return move(masks, "nearest");
            return ops::cast(move(ops::cast(masks, DType::UInt8), "nearest"), DType::Bool);
          },
      .boxes =
          [=](const BoundingBoxes& given) {
            return clipped({move_boxes(given.boxes), given.labels}, size);
          },
  };
}

BoundingBoxes clipped(const BoundingBoxes& boxes, ImageSize size) {
  return bounding_boxes::clip_to_image_size(boxes, {.image_size = in_pixels(size)});
}

Tensor transform_boxes(const Tensor& boxes, const Tensor& transforms) {
  // The numbers of the inverse, up to a factor: the adjugate of (a0, a1, a2; b0, b1, b2; c0, c1,
  // 1).
  const auto in = ops::split(ops::expand_dims(ops::cast(transforms, DType::Float32), 1), 8, -1);
  const Tensor &a0 = in[0], &a1 = in[1], &a2 = in[2], &b0 = in[3], &b1 = in[4], &b2 = in[5];
  const Tensor &c0 = in[6], &c1 = in[7];
  const bounding_boxes::Corners at = bounding_boxes::corners_of(boxes);
  const Tensor &x = at.x, &y = at.y;
  const Tensor k = (b0 * c1 - b1 * c0) * x + (a1 * c0 - a0 * c1) * y + (a0 * b1 - a1 * b0);
  // A singular transform leaves nothing.
  const Tensor gone = k == 0;
  const auto place = [&](const Tensor& by_x, const Tensor& by_y, const Tensor& constant) {
    return ops::where(gone, 0, (by_x * x + by_y * y + constant) / ops::where(gone, 1, k));
  };
  const Tensor xs = place(b1 - b2 * c1, a2 * c1 - a1, a1 * b2 - a2 * b1);
  const Tensor ys = place(b2 * c0 - b0, a0 - a2 * c0, a2 * b0 - a0 * b2);
  return bounding_boxes::boxes_around({xs, ys});
}

Tensor flip_boxes(const Tensor& boxes, const Tensor& flips, bool horizontally, bool vertically,
                  ImageSize size) {
  auto in = ops::split(boxes, 4, -1);
  if (horizontally) in = {size.second - in[2], in[1], size.second - in[0], in[3]};
  if (vertically) in = {in[0], size.first - in[3], in[2], size.first - in[1]};
  return ops::where(ops::squeeze(flips, 3), ops::concatenate(in, -1), boxes);
}

Tensor scale_boxes(const Tensor& boxes, std::pair<double, double> scale,
                   std::pair<double, double> offset) {
  return boxes * numbers(scale.first, scale.second) + numbers(offset.first, offset.second);
}

bool is_dictionary(const Tensors& inputs) {
  return inputs.has_names() && (inputs.size() > 1 || has(inputs, kImages));
}

bool check_boxes(const Tensors& entries, const std::string& layer) {
  const bool boxes = has(entries, kBoxes);
  check<InvalidArgument>(boxes == has(entries, kBoxLabels),
                         "{}: expected both '{}' and '{}', or none of them.", layer, kBoxes,
                         kBoxLabels);
  if (!boxes) return false;
  const Shape& shape = entries.at(kBoxes).shape();
  check<InvalidArgument>((shape.rank() == 2 || shape.rank() == 3) && shape.back() == 4,
                         "{}: expected '{}' (boxes, 4), or a batch of them, got {}.", layer, kBoxes,
                         shape);
  const Shape each = shape.slice(0, shape.rank() - 1);
  const Shape& labels = entries.at(kBoxLabels).shape();
  const bool classes = labels.rank() == shape.rank();
  check<InvalidArgument>(agree(classes ? labels.slice(0, labels.rank() - 1) : labels, each),
                         "{}: expected '{}' {}, as there are boxes, got {}.", layer, kBoxLabels,
                         each, labels);
  return true;
}

LabeledImages::LabeledImages(const Layer& layer, const Tensors& entries)
    : layer_(layer), entries_(entries) {
  check<InvalidArgument>(has(entries, kImages),
                         "{}: expected a dictionary with '{}', got the names {}.", layer.label,
                         kImages, fmt::join(entries.names(), ", "));
  if (has(entries, kMasks)) check_masks();
  has_boxes_ = check_boxes(entries, layer.label);
  if (!has_boxes_) return;
  check<InvalidArgument>(layer.bounding_box_format.has_value(),
                         "{}: expected a bounding_box_format, \"xyxy\" or another, for '{}'.",
                         layer.label, kBoxes);
  const Shape &boxes = entries.at(kBoxes).shape(), &shape = images().shape();
  check<InvalidArgument>(boxes.rank() + 1 == shape.rank() &&
                             (!batched() || agree(boxes.slice(0, 1), shape.slice(0, 1))),
                         "{}: expected '{}' for as many images as there are, {}, got {}.",
                         layer.label, kBoxes, shape, boxes);
}

void LabeledImages::check_masks() const {
  const Shape &shape = images().shape(), &masks = entries_.at(kMasks).shape();
  const int64_t channels = layer_.channels_first ? shape.rank() - 3 : shape.rank() - 1;
  check<InvalidArgument>(agree(shape, masks, channels),
                         "{}: expected '{}' of the images' shape {}, but for the channels, got {}.",
                         layer_.label, kMasks, shape, masks);
}

Tensor LabeledImages::changed_masks(const Change& change) const {
  const Tensor& masks = entries_.at(kMasks);
  if (!change.masks) return masks;
  return rearranged(change.masks(arranged(masks, layer_.channels_first)), masks,
                    layer_.channels_first);
}

Tensor LabeledImages::changed_labels(const Change& change) const {
  const Tensor& labels = entries_.at(kLabels);
  if (!change.labels) return labels;
  check<InvalidArgument>(!batched() || (labels.rank() > 0 && agree(labels.shape().slice(0, 1),
                                                                   images().shape().slice(0, 1))),
                         "{}: expected '{}' for as many images as there are, {}, got {}.",
                         layer_.label, kLabels, images().shape(), labels.shape());
  return batched() ? change.labels(labels)
                   : ops::squeeze(change.labels(ops::expand_dims(labels, 0)), 0);
}

BoundingBoxes LabeledImages::changed_boxes(const Change& change, ImageSize before,
                                           ImageSize after) const {
  BoundingBoxes given = {ops::cast(entries_.at(kBoxes), DType::Float32), entries_.at(kBoxLabels)};
  if (!change.boxes) return given;
  if (!batched()) {
    given = {ops::expand_dims(given.boxes, 0), ops::expand_dims(given.labels, 0)};
  }
  const std::string& format = *layer_.bounding_box_format;
  const Tensor padding =
      ops::logical_or(ops::all(given.boxes == 0, -1, true), ops::all(given.boxes == -1, -1, true));
  given.boxes = bounding_boxes::convert_format(given.boxes, format, "xyxy",
                                               {.image_size = in_pixels(before)});
  BoundingBoxes result = change.boxes(given);
  result.boxes = bounding_boxes::convert_format(result.boxes, "xyxy", format,
                                                {.image_size = in_pixels(after)});
  if (change.zero_padding) result.boxes = ops::where(padding, 0, result.boxes);
  if (batched()) return result;
  return {ops::squeeze(result.boxes, 0), ops::squeeze(result.labels, 0)};
}

Tensors LabeledImages::changed(const Change& change, const Tensor& result, ImageSize before,
                               ImageSize after) const {
  BoundingBoxes boxes;
  if (has_boxes_) boxes = changed_boxes(change, before, after);
  std::vector<Tensor> results;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::string& name = entries_.names()[i];
    results.push_back(name == kImages      ? result
                      : name == kMasks     ? changed_masks(change)
                      : name == kLabels    ? changed_labels(change)
                      : name == kBoxes     ? boxes.boxes
                      : name == kBoxLabels ? boxes.labels
                                           : entries_[i]);
  }
  return entries_.with(std::move(results));
}

Tensor arranged(const Tensor& x, bool channels_first) {
  const Tensor images = x.rank() == 3 ? ops::expand_dims(x, 0) : x;
  return channels_first ? ops::transpose(images, {0, 2, 3, 1}) : images;
}

Tensor rearranged(const Tensor& images, const Tensor& like, bool channels_first) {
  const Tensor result = channels_first ? ops::transpose(images, {0, 3, 1, 2}) : images;
  return like.rank() == 3 ? ops::squeeze(result, 0) : result;
}

}  // namespace cornu::layers
