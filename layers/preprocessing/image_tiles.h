// SPDX-License-Identifier: Apache-2.0
// Equalization by tiles. Internal: included by layers' .cc files.
#pragma once

#include <cstdint>
#include <utility>

#include "layers/preprocessing/image_colors.h"

namespace cornu::layers {

// The histograms of each channel in each of `tiles` (down, across) of each picture, equalized; a
// bin counts at most clip_limit times the mean (0 or less: any), and what is cut off goes to all
// alike. A pixel gets what the four nearest tiles make of its value, by its distance from them.
Tensor equalize_tiles(const Tensor& images, std::pair<int64_t, int64_t> tiles, double clip_limit,
                      const Bounds& range);

}  // namespace cornu::layers
