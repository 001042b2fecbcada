// SPDX-License-Identifier: Apache-2.0
// Operations on images (keras.ops.image): (height, width, channels) or (batch, height, width,
// channels); with the data_format "channels_first", (channels, height, width) or (batch, channels,
// height, width). None means "channels_last". Throws InvalidArgument for other ranks. Filters are
// in image_filters.h, and functions that move pixels in image_geometry.h.
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
  bool antialias = false;                  // average over the pixels that become one
  // Keep the aspect ratio: crop the image first, or pad it with `fill_value`.
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  double fill_value = 0.0;
  std::string data_format = {};
};

// Resizes to `size` (height, width), with pixels as squares whose centers are at half-integers.
// Keeps the dtype: integers are rounded, and clamped to their range. Each axis is one product with
// a matrix of weights, so gradients flow.
Tensor resize(const Tensor& images, std::pair<int64_t, int64_t> size,
              const ResizeOptions& options = {});

// 0.2989 red + 0.587 green + 0.114 blue, as one channel of the same dtype. Images with one channel
// are returned unchanged.
Tensor rgb_to_grayscale(const Tensor& images, const std::string& data_format = {});

// Converts red, green and blue in [0, 1], of a floating-point dtype, to hue, saturation and value
// in [0, 1] (Smith 1978), and back.
Tensor rgb_to_hsv(const Tensor& images, const std::string& data_format = {});
Tensor hsv_to_rgb(const Tensor& images, const std::string& data_format = {});

// In pixels. Along each axis, two of the three numbers must be given; they determine the third.
struct PadImagesOptions {
  std::optional<int64_t> top_padding = {};
  std::optional<int64_t> left_padding = {};
  std::optional<int64_t> bottom_padding = {};
  std::optional<int64_t> right_padding = {};
  std::optional<int64_t> target_height = {};
  std::optional<int64_t> target_width = {};
  std::string data_format = {};
};

// Pads images with zeros.
Tensor pad_images(const Tensor& images, const PadImagesOptions& options);

// In pixels, as for PadImagesOptions.
struct CropImagesOptions {
  std::optional<int64_t> top_cropping = {};
  std::optional<int64_t> left_cropping = {};
  std::optional<int64_t> bottom_cropping = {};
  std::optional<int64_t> right_cropping = {};
  std::optional<int64_t> target_height = {};
  std::optional<int64_t> target_width = {};
  std::string data_format = {};
};

// Crops images to a rectangle.
Tensor crop_images(const Tensor& images, const CropImagesOptions& options);

struct ExtractPatchesOptions {
  Sizes strides = {};  // None: the size of the patches, so that they are adjacent
  Sizes dilation_rate = 1;
  Padding padding = "valid";
  std::string data_format = {};
};

// Extracts patches of `size` (one number, or height and width), each as the channels of one pixel:
// (batch, rows, columns, height * width * channels). With three numbers, it is extract_patches_3d.
Tensor extract_patches(const Tensor& images, const Sizes& size,
                       const ExtractPatchesOptions& options = {});
// The equivalent for volumes (depth, height, width, channels) or a batch of them.
Tensor extract_patches_3d(const Tensor& volumes, const Sizes& size,
                          const ExtractPatchesOptions& options = {});

struct AffineTransformOptions {
  std::string interpolation = "bilinear";  // or "nearest"
  // The pixels outside of an image abcd: "constant" k k | a b c d | k k, "nearest" a a | a b c d |
  // d d, "wrap" c d | a b c d | a b, or "reflect" b a | a b c d | d c.
  std::string fill_mode = "constant";
  double fill_value = 0.0;
  std::string data_format = {};  // None: "channels_last"; "channels_first": (batch, channels, …)
};

// The pixel (x, y) of the result is the image's pixel at ((a0 x + a1 y + a2) / k, (b0 x + b1 y +
// b2) / k), with k = c0 x + c1 y + 1, for a transform (a0, a1, a2, b0, b1, b2, c0, c1): one for all
// images, (8) or (1, 8), or one per image, (batch, 8). Shape and dtype are those of the images;
// integers are truncated. Gradients flow to the images, but not to the transforms (as in Keras;
// TensorFlow's gradients are approximate, these are exact).
Tensor affine_transform(const Tensor& images, const Tensor& transform,
                        const AffineTransformOptions& options = {});

}  // namespace cornu::ops::image
