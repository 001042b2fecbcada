// SPDX-License-Identifier: Apache-2.0
// Operations on images (keras.ops.image): (height, width, channels) or (batch, height, width,
// channels); with the data_format "channels_first", (channels, height, width) or (batch, channels,
// height, width). None is "channels_last". InvalidArgument for other ranks. What they become by
// filters and by moving pixels is in image_filters.h and image_geometry.h.
#pragma once

#include <cstdint>
#include <optional>
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
  std::string data_format = {};
};

// To `size` (height, width), pixels being squares whose centers are at halves. The dtype stays:
// integers are rounded, those out of range to the nearest. Each axis is one product with a matrix
// of weights, so that gradients flow.
Tensor resize(const Tensor& images, std::pair<int64_t, int64_t> size,
              const ResizeOptions& options = {});

// 0.2989 red + 0.587 green + 0.114 blue, as one channel of the same dtype. Images of one channel
// stay.
Tensor rgb_to_grayscale(const Tensor& images, const std::string& data_format = {});

// Red, green and blue of a floating-point dtype, in [0, 1], as hue, saturation and value, in [0, 1]
// too (Smith 1978), and back.
Tensor rgb_to_hsv(const Tensor& images, const std::string& data_format = {});
Tensor hsv_to_rgb(const Tensor& images, const std::string& data_format = {});

// In pixels; of the three numbers along an axis two are given, and the third follows.
struct PadImagesOptions {
  std::optional<int64_t> top_padding = {};
  std::optional<int64_t> left_padding = {};
  std::optional<int64_t> bottom_padding = {};
  std::optional<int64_t> right_padding = {};
  std::optional<int64_t> target_height = {};
  std::optional<int64_t> target_width = {};
  std::string data_format = {};
};

// With zeros around.
Tensor pad_images(const Tensor& images, const PadImagesOptions& options);

// Likewise.
struct CropImagesOptions {
  std::optional<int64_t> top_cropping = {};
  std::optional<int64_t> left_cropping = {};
  std::optional<int64_t> bottom_cropping = {};
  std::optional<int64_t> right_cropping = {};
  std::optional<int64_t> target_height = {};
  std::optional<int64_t> target_width = {};
  std::string data_format = {};
};

// Without what lies outside of a rectangle.
Tensor crop_images(const Tensor& images, const CropImagesOptions& options);

struct ExtractPatchesOptions {
  Sizes strides = {};  // None: the patches' size, so that they lie side by side
  Sizes dilation_rate = 1;
  Padding padding = "valid";
  std::string data_format = {};
};

// The patches of `size` (one number, or height and width), each as the channels of one pixel:
// (batch, rows, columns, height * width * channels). Of three numbers, it is extract_patches_3d.
Tensor extract_patches(const Tensor& images, const Sizes& size,
                       const ExtractPatchesOptions& options = {});
// The same of volumes (depth, height, width, channels) or a batch of them.
Tensor extract_patches_3d(const Tensor& volumes, const Sizes& size,
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
