// SPDX-License-Identifier: Apache-2.0
// Histogram equalization by tiles. Internal: included by layers' .cc files.
#pragma once

#include <cstdint>
#include <utility>

#include "layers/preprocessing/image_colors.h"

namespace cornu::layers {

// Equalizes the histograms of each channel in each of `tiles` (down, across) of each image. Bins
// are clipped to clip_limit times the mean (<= 0: not clipped), and the excess is redistributed
// equally. Each pixel interpolates between the mappings of the four nearest tiles by distance.
Tensor equalize_tiles(const Tensor& images, std::pair<int64_t, int64_t> tiles, double clip_limit,
                      const Bounds& range);

}  // namespace cornu::layers
