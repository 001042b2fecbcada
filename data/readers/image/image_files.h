// SPDX-License-Identifier: Apache-2.0
// Single pictures in files (keras.utils.load_img and its like).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "data/readers/image/decode_image.h"
#include "framework/core/tensor.h"

namespace cornu::data {

struct LoadImageOptions {
  std::string color_mode = "rgb";                               // "grayscale" or "rgba"
  std::optional<std::pair<int64_t, int64_t>> target_size = {};  // (height, width); None: its own
  // "box", "bilinear", "hamming", "bicubic" or "lanczos", which average over what becomes one
  // pixel.
  std::string interpolation = "nearest";
  bool keep_aspect_ratio =
      false;  // take the largest part in the middle that has target_size's shape
  int64_t max_pixels = kMostPixels;
};

// The picture at `path`, uint8 (height, width, channels), with the values that Pillow gives; of an
// animation, the first frame. NotFound when there is no such file; otherwise errors as
// decode_image's. Reference: keras.utils.load_img.
Tensor load_img(const std::filesystem::path& path, const LoadImageOptions& options = {});

// A picture's values as float32, (height, width) with an axis of one channel
// (keras.utils.img_to_array).
Tensor img_to_array(const Tensor& image);

struct ArrayToImageOptions {
  bool scale = true;  // so that the least value becomes 0 and the greatest 255
};

// (height, width, 1, 3 or 4) of any type as uint8, fractions cut off. Without scale, values should
// be within 0 and 255: others become the nearest of these (keras.utils.array_to_img).
Tensor array_to_img(const Tensor& array, const ArrayToImageOptions& options = {});

struct SaveImageOptions {
  std::string file_format = "";  // "png" or "jpeg"; None: the path's ending says
  bool scale = true;             // as in array_to_img
  int64_t quality = 75;          // of JPEGs (Pillow's default)
};

// Writes array_to_img(array); JPEGs leave opacities out. The file is replaced whole or not at all
// (write_file_atomically, errors as there). InvalidArgument for other formats. Reference:
// keras.utils.save_img.
void save_img(const std::filesystem::path& path, const Tensor& array,
              const SaveImageOptions& options = {});

}  // namespace cornu::data
