// SPDX-License-Identifier: Apache-2.0
// Color operations of image layers, given random numbers. Internal: included by their .cc files.
//
// Images are (batch, height, width, channels) with floating values within `range`; numbers are
// (batch, 1, 1, 1).
#pragma once

#include <cstdint>

#include "framework/core/tensor.h"

namespace cornu::layers {

// The bounds of a random number or of pixel values.
struct Bounds {
  double lower = 0;
  double upper = 0;
};

// Maps values from one range to another.
Tensor rescale(const Tensor& images, const Bounds& from, const Bounds& to);

// Rotates hues by `turn` full circles. For red, green and blue channels.
Tensor adjust_hue(const Tensor& images, const Tensor& turn, const Bounds& range);
// Converts numbers from 0 (removes all color) through 0.5 (no change) to 1 into factors for the
// saturation.
Tensor saturation_factors(const Tensor& drawn);
// Multiplies saturations, which are in [0, 1], by `factor` and clips them to `range`. For red,
// green and blue channels.
Tensor adjust_saturation(const Tensor& images, const Tensor& factor, const Bounds& range);
// Interpolates between each image (`factor` 0) and its grayscale version (1). For red, green and
// blue channels, or a single one.
Tensor degenerate_colors(const Tensor& images, const Tensor& factor, const Bounds& range);
// Interpolates from the image's 3 x 3 mean (factor 0) through the image itself (0.5) to a sharpened
// version.
Tensor sharpen(const Tensor& images, const Tensor& factor, const Bounds& range);

// Keeps the leading `bits` (int32, 1 to 8) of 8 bits per value.
Tensor posterize(const Tensor& images, const Tensor& bits, const Bounds& range);
// Adds `addition` to 8-bit values, then inverts those of at least `threshold`.
Tensor solarize(const Tensor& images, const Tensor& addition, const Tensor& threshold,
                const Bounds& range);
// Stretches each channel of each image to the full range; a constant channel is unchanged.
Tensor stretch_contrast(const Tensor& images, const Bounds& range);
// Equalizes the histogram of each channel over all images together.
Tensor equalize(const Tensor& images, int64_t bins, const Bounds& range);

}  // namespace cornu::layers
