// SPDX-License-Identifier: Apache-2.0
// What random image layers do once their numbers are drawn. Internal: included by their .cc files.
//
// Images are (batch, height, width, channels), numbers (batch, 1, 1, 1), transforms (batch, 8) as
// ops::image::affine_transform takes them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "framework/core/tensor.h"

namespace cornu::layers {

// Those where `flips` (bool) holds, mirrored along both axes or one.
Tensor flip_images(const Tensor& images, const Tensor& flips, bool horizontally, bool vertically);

// Counter-clockwise about the middle of pictures of this size, by `angle` in degrees.
Tensor rotations(const Tensor& angle, int64_t height, int64_t width);
// About the middle, so that `height_zoom` times as many pixels are seen from top to bottom.
Tensor zooms(const Tensor& height_zoom, const Tensor& width_zoom, int64_t height, int64_t width);
// By a number of pixels, down and to the right.
Tensor translations(const Tensor& down, const Tensor& right);

// Columns to the right by `x` for each row further down, and rows down by `y` for each column.
Tensor shears(const Tensor& x, const Tensor& y);

struct Distortion {
  double largest = 1;  // of the scale
  std::string interpolation;
  std::string fill_mode;
  double fill_value = 0;
};
// Pixels moved to the right and down by smoothed noise, (batch, height, width), the more the larger
// `scale` (a scalar).
Tensor distort(const Tensor& images, const Tensor& right, const Tensor& down, const Tensor& scale,
               const Distortion& settings);

// A rectangle as parts of what is around it: its size, and where it lies (0: at the top or left, 1:
// at the bottom or right).
struct Part {
  Tensor top, left;
  Tensor height, width;
};
// The edges of such a rectangle along an axis of this size, in pixels.
std::pair<Tensor, Tensor> edges(const Tensor& place, const Tensor& part, int64_t size);
// Which pixels lie in it, bool (batch, height, width, 1).
Tensor inside(const Part& part, const Tensor& images);

// With which picture each one of a batch is mixed, and how much of it stays, (batch, 1, 1, 1);
// where pixels are exchanged as they are, which ones, (batch, height, width, 1).
struct Mixture {
  Tensor order;
  Tensor weight;
  Tensor exchanged = {};
};
Tensor mix_images(const Tensor& images, const Mixture& mixture);
// Labels: (batch, ...).
Tensor mix_labels(const Tensor& labels, const Mixture& mixture);

// Each channel's values, `factor` times as far from the channel's mean, within [low, high].
Tensor adjust_contrast(const Tensor& images, const Tensor& factor, double low, double high);
// images + delta, within [low, high].
Tensor adjust_brightness(const Tensor& images, const Tensor& delta, double low, double high);

// The part of `size` (height, width) that begins at (top, left), int32 or int64 scalars.
Tensor crop_images(const Tensor& images, const Tensor& top, const Tensor& left,
                   std::pair<int64_t, int64_t> size);
// The largest part in the middle of the shape of `size`, resized to it.
Tensor crop_and_resize(const Tensor& images, std::pair<int64_t, int64_t> size);

}  // namespace cornu::layers
