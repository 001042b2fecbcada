// SPDX-License-Identifier: Apache-2.0
// What random image layers do once their numbers are drawn. Internal: their .cc files include it.
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
