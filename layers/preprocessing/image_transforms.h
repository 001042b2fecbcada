// SPDX-License-Identifier: Apache-2.0
// Geometric and other operations of random image layers, given random numbers. Internal: included
// by their .cc files.
//
// Images are (batch, height, width, channels), numbers (batch, 1, 1, 1), transforms (batch, 8) as
// for ops::image::affine_transform.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "framework/core/tensor.h"

namespace cornu::layers {

// Mirrors the images for which `flips` (bool) holds, along one or both axes.
Tensor flip_images(const Tensor& images, const Tensor& flips, bool horizontally, bool vertically);

// Counter-clockwise rotations about the center of images of this size, by `angle` in degrees.
Tensor rotations(const Tensor& angle, int64_t height, int64_t width);
// Zooms about the center, such that `height_zoom` times as many pixels are visible vertically.
Tensor zooms(const Tensor& height_zoom, const Tensor& width_zoom, int64_t height, int64_t width);
// Translations by a number of pixels, down and to the right.
Tensor translations(const Tensor& down, const Tensor& right);

// Shears that move columns to the right by `x` per row, and rows down by `y` per column.
Tensor shears(const Tensor& x, const Tensor& y);

struct Distortion {
  double largest = 1;  // upper bound of the scale
  std::string interpolation;
  std::string fill_mode;
  double fill_value = 0;
};
// Moves pixels to the right and down by smoothed noise, (batch, height, width), in proportion to
// `scale` (a scalar).
Tensor distort(const Tensor& images, const Tensor& right, const Tensor& down, const Tensor& scale,
               const Distortion& settings);

// A rectangle in relative coordinates: its size, and its position (0: at the top or left, 1: at the
// bottom or right).
struct Part {
  Tensor top, left;
  Tensor height, width;
};
// The edges of such a rectangle along an axis of this size, in pixels.
std::pair<Tensor, Tensor> edges(const Tensor& place, const Tensor& part, int64_t size);
// Whether pixels are inside the rectangle, bool (batch, height, width, 1).
Tensor inside(const Part& part, const Tensor& images);

// The image with which each image of a batch is mixed, and the weight of the latter, (batch, 1, 1,
// 1); if pixels are replaced instead, which ones, (batch, height, width, 1).
struct Mixture {
  Tensor order;
  Tensor weight;
  Tensor exchanged = {};
};
Tensor mix_images(const Tensor& images, const Mixture& mixture);
// Labels: (batch, ...).
Tensor mix_labels(const Tensor& labels, const Mixture& mixture);

// Multiplies each value's distance from its channel's mean by `factor`, clipping to [low, high].
Tensor adjust_contrast(const Tensor& images, const Tensor& factor, double low, double high);
// images + delta, clipped to [low, high].
Tensor adjust_brightness(const Tensor& images, const Tensor& delta, double low, double high);

}  // namespace cornu::layers
