// SPDX-License-Identifier: Apache-2.0
// Resizes images on the host, for input pipelines.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "framework/core/tensor.h"

namespace cornu::data {

struct ResizeImageOptions {
  // Or "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian" or "mitchellcubic".
  std::string interpolation = "bilinear";
  bool crop_to_aspect_ratio = false;  // crop to the largest centered part with the aspect ratio of
                                      // `size`
  bool pad_to_aspect_ratio = false;   // keep the whole image and pad it with black
};

// Resizes `image`, uint8 or float32 (height, width, channels), to float32 (size.first, size.second,
// channels), with the values of tf.image.resize (half-pixel centers, no antialiasing),
// keras.preprocessing.image.smart_resize and tf.image.resize_with_pad. Runs only on the calling
// thread. Throws InvalidArgument for an unknown interpolation, for both aspect ratio options
// together, for sizes below 1 and for other images.
//
// ops::image::resize is for models: it has gradients and takes batches, on any device.
Tensor resize_image(const Tensor& image, std::pair<int64_t, int64_t> size,
                    const ResizeImageOptions& options = {});

// Resizes uint8 (height, width, channels) like Pillow's Image.resize, which averages over the area
// of each output pixel: "nearest", "box", "bilinear", "hamming", "bicubic" or "lanczos". `box` is
// the source region (left, top, right, bottom); pixels around it contribute at its borders.
struct PixelBox {
  int64_t left = 0;
  int64_t top = 0;
  int64_t right = 0;
  int64_t bottom = 0;
};
Tensor resize_as_pillow(const Tensor& image, std::pair<int64_t, int64_t> size,
                        const std::string& interpolation, const PixelBox& box);

}  // namespace cornu::data
