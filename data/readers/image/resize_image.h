// SPDX-License-Identifier: Apache-2.0
// Pictures of one size, made on the host for input pipelines.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "framework/core/tensor.h"

namespace cornu::data {

struct ResizeImageOptions {
  // "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian" or "mitchellcubic".
  std::string interpolation = "bilinear";
  bool crop_to_aspect_ratio = false;  // the largest part in the middle that has the shape of `size`
  bool pad_to_aspect_ratio = false;   // the whole picture, with black beside it
};

// `image`, uint8 or float32 (height, width, channels), as float32 (size.first, size.second,
// channels), with the values of tf.image.resize (half-pixel centers, no antialiasing),
// keras.preprocessing.image.smart_resize and tf.image.resize_with_pad. Runs on the calling thread
// alone. InvalidArgument for an unknown interpolation, both ratios, sizes below 1 and other images.
//
// ops::image::resize is for models: it has gradients and takes batches, on any device.
Tensor resize_image(const Tensor& image, std::pair<int64_t, int64_t> size,
                    const ResizeImageOptions& options = {});

// uint8 (height, width, channels) in other sizes as Pillow's Image.resize gives them, which
// averages over what becomes one pixel: "nearest", "box", "bilinear", "hamming", "bicubic" or
// "lanczos". `box`: the part that is seen (left, top, right, bottom); its surroundings count at its
// borders.
struct PixelBox {
  int64_t left = 0;
  int64_t top = 0;
  int64_t right = 0;
  int64_t bottom = 0;
};
Tensor resize_as_pillow(const Tensor& image, std::pair<int64_t, int64_t> size,
                        const std::string& interpolation, const PixelBox& box);

}  // namespace cornu::data
