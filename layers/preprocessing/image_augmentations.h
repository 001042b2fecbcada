// SPDX-License-Identifier: Apache-2.0
// The operations that RandAugment and AugMix choose from. Internal: included by their .cc files.
#pragma once

#include <cstdint>
#include <string>

#include "layers/preprocessing/image_colors.h"

namespace cornu::layers {

struct AugmentationSettings {
  Bounds factor;              // of random numbers, as in the operation's layer
  Bounds range;               // of pixel values
  std::string interpolation;  // for operations that move pixels
};

// Operations are numbered; the first kPlainAugmentations exclude brightness, contrast, color and
// sharpness.
constexpr int64_t kAugmentations = 11;
constexpr int64_t kPlainAugmentations = 7;
// How many random numbers an operation needs per image.
constexpr int64_t kAugmentationNumbers = 3;

// Applies operation `which` (an int32 scalar; other numbers are no-ops) to all images (batch,
// height, width, channels), with `numbers` in [0, 1), (batch, 1, 1, kAugmentationNumbers).
Tensor augment(const Tensor& images, const Tensor& which, const Tensor& numbers,
               const AugmentationSettings& settings);

// Whether operation `which` moves pixels, and by what transforms (batch, 8): no-ops if it doesn't.
Tensor moves_pixels(const Tensor& which);
Tensor augmentation_transforms(const Tensor& which, const Tensor& numbers,
                               const AugmentationSettings& settings, int64_t height, int64_t width);
// Moves pixels by such transforms.
Tensor move_pixels(const Tensor& images, const Tensor& transforms,
                   const std::string& interpolation);

}  // namespace cornu::layers
