// SPDX-License-Identifier: Apache-2.0
// How layers crop images, with the masks and boxes that belong to them. Internal: included by their
// .cc files. Sizes are (height, width).
#pragma once

#include "layers/preprocessing/labeled_images.h"

namespace cornu::layers {

// Crops the part with this size that starts at (top, left), int32 or int64 scalars.
Tensor crop_images(const Tensor& images, const Tensor& top, const Tensor& left, ImageSize size);
Change crop_at(const Tensor& top, const Tensor& left, ImageSize size);

// Crops the centered part of images of size `from`. Where they are smaller: crop_and_resize.
Change center_crop(ImageSize from, ImageSize size);
// Crops the largest centered part with the aspect ratio of `size`, and resizes it to that.
Change crop_and_resize(ImageSize from, ImageSize size);
// Keras's RandomCrop in training, for images that aren't larger than `size`.
Change crop_small(ImageSize from, ImageSize size);

}  // namespace cornu::layers
