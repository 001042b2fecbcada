// SPDX-License-Identifier: Apache-2.0
// Loads and saves single image files (keras.utils.load_img and related functions).
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
  std::optional<std::pair<int64_t, int64_t>> target_size = {};  // (height, width); nullopt: the
                                                                // original size
  // Or "box", "bilinear", "hamming", "bicubic" or "lanczos", which are antialiased: they average
  // over the area of each output pixel.
  std::string interpolation = "nearest";
  bool keep_aspect_ratio =
      false;  // crop to the largest centered part with target_size's aspect ratio
  int64_t max_pixels = kMaxPixels;
};

// Loads the image at `path` as uint8 (height, width, channels), with Pillow's values; only the
// first frame of an animation. Throws NotFound when the file doesn't exist; otherwise the same
// errors as decode_image. Reference: keras.utils.load_img.
Tensor load_img(const std::filesystem::path& path, const LoadImageOptions& options = {});

// Converts an image to float32; (height, width) gets an axis for one channel
// (keras.utils.img_to_array).
Tensor img_to_array(const Tensor& image);

struct ArrayToImageOptions {
  bool scale = true;  // rescale values so that the minimum becomes 0 and the maximum 255
};

// Converts (height, width, 1, 3 or 4) of any type to uint8, truncating fractions. Without scale,
// values are clamped to [0, 255] (keras.utils.array_to_img).
Tensor array_to_img(const Tensor& array, const ArrayToImageOptions& options = {});

struct SaveImageOptions {
  std::string file_format = "";  // "png" or "jpeg"; empty: determined by the path's extension
  bool scale = true;             // see array_to_img
  int64_t quality = 75;          // for JPEGs (Pillow's default)
};

// Writes array_to_img(array); JPEGs drop the alpha channel. The file is replaced atomically (see
// write_file_atomically, also for errors). Throws InvalidArgument for other formats. Reference:
// keras.utils.save_img.
void save_img(const std::filesystem::path& path, const Tensor& array,
              const SaveImageOptions& options = {});

}  // namespace cornu::data
