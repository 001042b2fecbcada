// SPDX-License-Identifier: Apache-2.0
// Operations on images (keras.ops.image): (height, width, channels) or (batch, height, width,
// channels). InvalidArgument for other ranks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops::image {

struct ResizeOptions {
  std::string interpolation = "bilinear";  // "nearest", "bicubic", "lanczos3" or "lanczos5"
  bool antialias = false;                  // average over what becomes one pixel
  // Keep the shape of what is seen: cut the image first, or put `fill_value` around it.
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  double fill_value = 0.0;
};

// To `size` (height, width), pixels being squares whose centers are at halves. Integers give
// float32 but for "nearest", which keeps the dtype. Each axis is one product with a matrix of
// weights, so that gradients flow.
Tensor resize(const Tensor& images, std::pair<int64_t, int64_t> size,
              const ResizeOptions& options = {});

// 0.2989 red + 0.587 green + 0.114 blue, as one channel of the same dtype. Images of one channel
// stay.
Tensor rgb_to_grayscale(const Tensor& images);

struct ExtractPatchesOptions {
  Sizes strides = {};  // None: the patches' size, so that they lie side by side
  Sizes dilation_rate = 1;
  Padding padding = "valid";
};

// The patches of `size` (one number, or height and width), each as the channels of one pixel:
// (batch, rows, columns, height * width * channels).
Tensor extract_patches(const Tensor& images, const Sizes& size,
                       const ExtractPatchesOptions& options = {});

struct AffineTransformOptions {
  std::string interpolation = "bilinear";  // or "nearest"
  // What lies outside of an image abcd: "constant" k k | a b c d | k k, "nearest" a a | a b c d |
  // d d, "wrap" c d | a b c d | a b, or "reflect" b a | a b c d | d c.
  std::string fill_mode = "constant";
  double fill_value = 0.0;
  std::string data_format = {};  // None: "channels_last"; "channels_first": (batch, channels, …)
};

// The pixel (x, y) of the result is what lies at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)
// of the image, k = c0 x + c1 y + 1, for a transform (a0, a1, a2, b0, b1, b2, c0, c1): one for all
// images, (8) or (1, 8), or one for each, (batch, 8). Shape and dtype are the images'; integers are
// cut. Gradients flow to the images, not to transforms (as in Keras, where TensorFlow's are
// approximate; these are exact).
Tensor affine_transform(const Tensor& images, const Tensor& transform,
                        const AffineTransformOptions& options = {});

}  // namespace cornu::ops::image
