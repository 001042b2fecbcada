// SPDX-License-Identifier: Apache-2.0
// What RandAugment and AugMix choose from. Internal: included by their .cc files.
#pragma once

#include <cstdint>
#include <string>

#include "layers/preprocessing/image_colors.h"

namespace cornu::layers {

struct AugmentationSettings {
  Bounds factor;              // of what is drawn, as the layer of that change has it
  Bounds range;               // of pictures' values
  std::string interpolation;  // of changes that move pixels
};

// Changes are numbered; the first kPlainAugmentations aren't of brightness, contrast, color or
// sharpness.
constexpr int64_t kAugmentations = 11;
constexpr int64_t kPlainAugmentations = 7;
// How many numbers a change needs for a picture.
constexpr int64_t kAugmentationNumbers = 3;

// Pictures (batch, height, width, channels), changed all by the same one (an int32 scalar; any
// other number changes nothing), with `numbers` in [0, 1), (batch, 1, 1, kAugmentationNumbers).
Tensor augment(const Tensor& images, const Tensor& which, const Tensor& numbers,
               const AugmentationSettings& settings);

}  // namespace cornu::layers
