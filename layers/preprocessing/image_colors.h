// SPDX-License-Identifier: Apache-2.0
// What layers do to the colors of pictures once their numbers are drawn. Internal: included by
// their .cc files.
//
// Images are (batch, height, width, channels) of floats within `range`, numbers (batch, 1, 1, 1).
#pragma once

#include <cstdint>

#include "framework/core/tensor.h"

namespace cornu::layers {

// The bounds that a random number is drawn in, or that pictures' values lie in.
struct Bounds {
  double lower = 0;
  double upper = 0;
};

// Values, from one range to another.
Tensor rescale(const Tensor& images, const Bounds& from, const Bounds& to);

// Hues, turned by `turn` whole circles. Red, green and blue.
Tensor adjust_hue(const Tensor& images, const Tensor& turn, const Bounds& range);
// What multiplies saturations, of numbers from 0 (nothing is left) by way of 0.5 (as they are)
// to 1.
Tensor saturation_factors(const Tensor& drawn);
// Saturations in [0, 1], times `factor`, within `range`. Red, green and blue.
Tensor adjust_saturation(const Tensor& images, const Tensor& factor, const Bounds& range);
// `factor` of the way from each picture to its grays; 1 is gray. Red, green and blue, or one
// channel.
Tensor degenerate_colors(const Tensor& images, const Tensor& factor, const Bounds& range);
// From the picture's mean over 3 x 3 pixels (factor 0) by way of itself (0.5) to what is sharper.
Tensor sharpen(const Tensor& images, const Tensor& factor, const Bounds& range);

// Of 8 bits a value, the first `bits` (int32, 1 to 8).
Tensor posterize(const Tensor& images, const Tensor& bits, const Bounds& range);
// With `addition` to 8-bit values, inverted where they reach `threshold` then.
Tensor solarize(const Tensor& images, const Tensor& addition, const Tensor& threshold,
                const Bounds& range);
// Each channel of each picture, stretched to the whole range; one of a single value stays.
Tensor stretch_contrast(const Tensor& images, const Bounds& range);
// Each channel so that its values are about equally frequent in all pictures together.
Tensor equalize(const Tensor& images, int64_t bins, const Bounds& range);

}  // namespace cornu::layers
