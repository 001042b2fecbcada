// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/image_transforms.h"

#include <numbers>
#include <vector>

#include "framework/ops/ops.h"

namespace cornu::layers {
namespace {

// (batch, 8) of numbers (batch, 1, 1, 1) or scalars; the last two, of perspectives, are 0.
Tensor as_transforms(const std::vector<Tensor>& numbers, int64_t batch) {
  std::vector<Tensor> columns;
  for (const Tensor& number : numbers) {
    columns.push_back(number.rank() == 0
                          ? ops::full({batch, 1}, number, DType::Float32)
                          : ops::reshape(ops::cast(number, DType::Float32), {batch, 1}));
  }
  columns.push_back(ops::zeros({batch, 2}));
  return ops::concatenate(columns, 1);
}

}  // namespace

Tensor flip_images(const Tensor& images, const Tensor& flips, bool horizontally, bool vertically) {
  Tensor flipped = images;
  if (horizontally) flipped = ops::flip(flipped, 2);
  if (vertically) flipped = ops::flip(flipped, 1);
  return ops::where(flips, flipped, images);
}

Tensor rotations(const Tensor& angle, int64_t height, int64_t width) {
  const Tensor radians = angle * (std::numbers::pi / 180);
  const Tensor cosine = ops::cos(radians);
  const Tensor sine = ops::sin(radians);
  const double x = static_cast<double>(width - 1) / 2;
  const double y = static_cast<double>(height - 1) / 2;
  return as_transforms(
      {cosine, -sine, x - x * cosine + y * sine, sine, cosine, y - x * sine - y * cosine},
      angle.dim(0));
}

Tensor zooms(const Tensor& height_zoom, const Tensor& width_zoom, int64_t height, int64_t width) {
  const double x = static_cast<double>(width - 1) / 2;
  const double y = static_cast<double>(height - 1) / 2;
  return as_transforms(
      {width_zoom, 0.0, x * (1 - width_zoom), 0.0, height_zoom, y * (1 - height_zoom)},
      height_zoom.dim(0));
}

Tensor translations(const Tensor& down, const Tensor& right) {
  return as_transforms({1.0, 0.0, -right, 0.0, 1.0, -down}, down.dim(0));
}

Tensor adjust_contrast(const Tensor& images, const Tensor& factor, double low, double high) {
  const Tensor mean = ops::mean(images, {1, 2}, true);
  return ops::clip((images - mean) * ops::cast(factor, images.dtype()) + mean, low, high);
}

Tensor adjust_brightness(const Tensor& images, const Tensor& delta, double low, double high) {
  return ops::clip(images + ops::cast(delta, images.dtype()), low, high);
}

Tensor crop_images(const Tensor& images, const Tensor& top, const Tensor& left,
                   std::pair<int64_t, int64_t> size) {
  const Tensor rows = ops::take(images, top + ops::arange(0, size.first, 1, top.dtype()), 1);
  return ops::take(rows, left + ops::arange(0, size.second, 1, left.dtype()), 2);
}

Tensor crop_and_resize(const Tensor& images, std::pair<int64_t, int64_t> size) {
  return ops::image::resize(images, size, {.crop_to_aspect_ratio = true});
}

}  // namespace cornu::layers
