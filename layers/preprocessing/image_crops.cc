// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/image_crops.h"

#include <algorithm>

#include "framework/ops/ops.h"

namespace cornu::layers {
namespace {

double number(int64_t value) { return static_cast<double>(value); }

// A part of images, in pixels.
struct Window {
  int64_t top, left;
  ImageSize size;

  // Boxes of the image, after this part is cropped and resized.
  Tensor moved(const Tensor& boxes, ImageSize to) const {
    const double right = number(to.second) / number(size.second);
    const double down = number(to.first) / number(size.first);
    return scale_boxes(boxes, {right, down}, {-number(left) * right, -number(top) * down});
  }
};

// Crops a part, and resizes it unless it has this size.
Change crop_part(const Window& part, ImageSize size) {
  const auto move = [=](const Tensor& images, const std::string& interpolation) {
    const Tensor rows = ops::slice_axis(images, 1, part.top, part.top + part.size.first);
    const Tensor pixels = ops::slice_axis(rows, 2, part.left, part.left + part.size.second);
    return part.size == size ? pixels
                             : ops::image::resize(pixels, size, {.interpolation = interpolation});
  };
  return moving(
      move, "bilinear", [=](const Tensor& boxes) { return part.moved(boxes, size); }, size);
}

// How long a part of one side is, if it is to the other side as `target` to `target_other`.
int64_t in_proportion(int64_t side, int64_t other, int64_t target, int64_t target_other) {
  const double wanted = number(other) * number(target) / number(target_other);
  return std::max<int64_t>(1, static_cast<int64_t>(std::min(wanted, number(side))));
}

// The largest centered part with the aspect ratio of `size`.
Window largest_part(ImageSize from, ImageSize size) {
  const int64_t height = in_proportion(from.first, from.second, size.first, size.second);
  const int64_t width = in_proportion(from.second, from.first, size.second, size.first);
  return {(from.first - height) / 2, (from.second - width) / 2, {height, width}};
}

}  // namespace

Tensor crop_images(const Tensor& images, const Tensor& top, const Tensor& left, ImageSize size) {
  const Tensor rows = ops::take(images, top + ops::arange(0, size.first, 1, top.dtype()), 1);
  return ops::take(rows, left + ops::arange(0, size.second, 1, left.dtype()), 2);
}

Change crop_at(const Tensor& top, const Tensor& left, ImageSize size) {
  const auto move = [=](const Tensor& images, const std::string&) {
    return crop_images(images, top, left, size);
  };
  const auto move_boxes = [=](const Tensor& boxes) {
    return boxes - ops::cast(ops::stack({left, top, left, top}), boxes.dtype());
  };
  return moving(move, "", move_boxes, size);
}

Change center_crop(ImageSize from, ImageSize size) {
  const int64_t rows = from.first - size.first, columns = from.second - size.second;
  if (rows < 0 || columns < 0) return crop_and_resize(from, size);
  return crop_part({rows / 2, columns / 2, size}, size);
}

Change crop_and_resize(ImageSize from, ImageSize size) {
  const auto move = [=](const Tensor& images, const std::string& interpolation) {
    return ops::image::resize(images, size,
                              {.interpolation = interpolation, .crop_to_aspect_ratio = true});
  };
  const auto move_boxes = [=](const Tensor& boxes) {
    return largest_part(from, size).moved(boxes, size);
  };
  return moving(move, "bilinear", move_boxes, size);
}

Change crop_small(ImageSize from, ImageSize size) {
  if (from.first == kUnknown || from.second == kUnknown) return crop_and_resize(from, size);
  Window part = largest_part(from, size);
  part.size = {std::min(size.first, from.first - part.top),
               std::min(size.second, from.second - part.left)};
  return crop_part(part, size);
}

}  // namespace cornu::layers
