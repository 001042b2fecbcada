// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/image_transforms.h"

#include <algorithm>
#include <numbers>
#include <vector>

#include "framework/ops/ops.h"

namespace cornu::layers {
namespace {

// Combines numbers (batch, 1, 1, 1) or scalars to (batch, 8); the last two, for perspectives, are
// 0.
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

Tensor shears(const Tensor& x, const Tensor& y) {
  return as_transforms({1.0, x, 0.0, y, 1.0, 0.0}, x.dim(0));
}

Tensor distort(const Tensor& images, const Tensor& right, const Tensor& down, const Tensor& scale,
               const Distortion& settings) {
  const int64_t longer = std::max(images.dim(1), images.dim(2));
  const int64_t shorter = std::min(images.dim(1), images.dim(2));
  const double sigma = 0.05 * static_cast<double>(shorter);
  return ops::internal::displaced(
      images,
      {.right = right,
       .down = down,
       .alpha = 0.1 * static_cast<double>(longer) * scale,
       .sigma = sigma * scale,
       .window = 2 * static_cast<int64_t>(3 * sigma * settings.largest) + 1},
      {.interpolation = settings.interpolation,
       .fill_mode = settings.fill_mode,
       .fill_value = settings.fill_value});
}

std::pair<Tensor, Tensor> edges(const Tensor& place, const Tensor& part, int64_t size) {
  const Tensor length = part * size;
  const Tensor begin = place * (size - length);
  return {begin, begin + length};
}

Tensor inside(const Part& part, const Tensor& images) {
  const auto along = [&](const Tensor& place, const Tensor& length, int64_t axis) {
    const int64_t size = images.dim(axis);
    const auto [begin, end] = edges(place, length, size);
    Shape shape = {1, 1, 1, 1};
    shape[axis] = size;
    const Tensor at = ops::reshape(ops::arange(0, size, 1, DType::Float32), shape);
    return ops::logical_and(at >= begin, at < end);
  };
  return ops::logical_and(along(part.top, part.height, 1), along(part.left, part.width, 2));
}

Tensor mix_images(const Tensor& images, const Mixture& mixture) {
  if (!mixture.exchanged.defined()) return mix_labels(images, mixture);
  return ops::where(mixture.exchanged, ops::take(images, mixture.order, 0), images);
}

Tensor mix_labels(const Tensor& labels, const Mixture& mixture) {
  Shape shape = labels.shape();
  for (int64_t axis = 1; axis < shape.rank(); ++axis) shape[axis] = 1;
  const Tensor weight = ops::cast(ops::reshape(mixture.weight, shape), labels.dtype());
  return weight * labels + (1 - weight) * ops::take(labels, mixture.order, 0);
}

Tensor adjust_contrast(const Tensor& images, const Tensor& factor, double low, double high) {
  const Tensor mean = ops::mean(images, {1, 2}, true);
  return ops::clip((images - mean) * ops::cast(factor, images.dtype()) + mean, low, high);
}

Tensor adjust_brightness(const Tensor& images, const Tensor& delta, double low, double high) {
  return ops::clip(images + ops::cast(delta, images.dtype()), low, high);
}

}  // namespace cornu::layers
