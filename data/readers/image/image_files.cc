// SPDX-License-Identifier: Apache-2.0
#include "data/readers/image/image_files.h"

#include <algorithm>

#include "data/readers/image/codecs.h"
#include "data/readers/image/resize_image.h"
#include "framework/core/checked.h"
#include "framework/core/logging.h"
#include "framework/core/strings.h"
#include "framework/io/atomic_file.h"
#include "framework/io/file_reader.h"

namespace cornu::data {
namespace {

int64_t channels_of(const std::string& color_mode) {
  if (color_mode == "grayscale") return 1;
  if (color_mode == "rgba") return 4;
  check<InvalidArgument>(color_mode == "rgb",
                         "load_img: expected a color_mode of 'grayscale', 'rgb' or 'rgba', got "
                         "'{}'.",
                         color_mode);
  return 3;
}

PixelBox middle_in_shape(int64_t height, int64_t width, std::pair<int64_t, int64_t> target) {
  constexpr std::string_view kWho = "load_img";
  const int64_t rows =
      std::min(height, checked_multiply(width, target.first, kWho) / target.second);
  const int64_t columns =
      std::min(width, checked_multiply(height, target.second, kWho) / target.first);
  const int64_t top = (height - rows) / 2;
  const int64_t left = (width - columns) / 2;
  return {left, top, left + columns, top + rows};
}

std::string format_of(const std::filesystem::path& path, const SaveImageOptions& options) {
  std::string format = options.file_format;
  if (format.empty() && path.has_extension()) format = path.extension().string().substr(1);
  format = lower_case(format);
  if (format == "jpg") format = "jpeg";
  check<InvalidArgument>(format == "png" || format == "jpeg",
                         "save_img: {}: expected the format png or jpeg, got '{}'. The path's "
                         "ending says it, or file_format.",
                         path.string(), format);
  return format;
}

}  // namespace

Tensor load_img(const std::filesystem::path& path, const LoadImageOptions& options) {
  const int64_t channels = channels_of(options.color_mode);
  const auto file = read_whole_file(path);
  // Gray is computed from colors, like in Pillow, rather than taken from the file; opacity is that
  // of the file, also of colors that it declares transparent.
  const Tensor decoded = decode_image({file->data(), file->bytes()},
                                      {.channels = channels == 4 ? 4 : 0,
                                       .expand_animations = false,
                                       .dct_method = "INTEGER_ACCURATE",
                                       .max_pixels = options.max_pixels},
                                      path.string());
  const Tensor image = codecs::with_channels(decoded, channels);
  if (!options.target_size) return image;
  const auto target = *options.target_size;
  const int64_t height = image.dim(0);
  const int64_t width = image.dim(1);
  if (target == std::pair(height, width)) return image;
  const bool whole = !options.keep_aspect_ratio || target.first < 1 || target.second < 1;
  const PixelBox box =
      whole ? PixelBox{0, 0, width, height} : middle_in_shape(height, width, target);
  return resize_as_pillow(image, target, options.interpolation, box);
}

Tensor img_to_array(const Tensor& image) {
  const Tensor pixels = image.host();
  check<InvalidArgument>(pixels.rank() == 2 || pixels.rank() == 3,
                         "img_to_array: expected (height, width) or (height, width, channels), got "
                         "shape {}.",
                         pixels.shape());
  Tensor result = Tensor::empty(pixels.shape(), DType::Float32);
  const auto to = result.mutable_data<float>();
  dispatch_dtype(pixels.dtype(), [&](auto t) {
    const auto from = pixels.data<decltype(t)>();
    std::transform(from.begin(), from.end(), to.begin(),
                   [](auto value) { return static_cast<float>(value); });
  });
  return pixels.rank() == 3 ? result : result.with_shape(pixels.shape().concat({1}));
}

Tensor array_to_img(const Tensor& array, const ArrayToImageOptions& options) {
  const bool fits = array.rank() == 3 && array.num_elements() > 0 &&
                    (array.dim(2) == 1 || array.dim(2) == 3 || array.dim(2) == 4);
  check<InvalidArgument>(fits, "array_to_img: expected (height, width, 1, 3 or 4), got shape {}.",
                         array.shape());
  const Tensor values = img_to_array(array);
  const auto from = values.data<float>();
  const auto [least, most] = std::minmax_element(from.begin(), from.end());
  const float zero = options.scale ? *least : 0;
  const float range = options.scale && *most > zero ? *most - zero : 1;
  const float unit = options.scale ? 255.0f : 1.0f;
  Tensor image = Tensor::empty(values.shape(), DType::UInt8);
  const auto to = image.mutable_data<uint8_t>();
  for (size_t i = 0; i < from.size(); ++i) {
    const float value = (from[i] - zero) / range * unit;
    to[i] = value >= 0 ? static_cast<uint8_t>(std::min(value, 255.0f)) : uint8_t{0};  // NaN: 0
  }
  return image;
}

void save_img(const std::filesystem::path& path, const Tensor& array,
              const SaveImageOptions& options) {
  const std::string format = format_of(path, options);
  Tensor image = array_to_img(array, {.scale = options.scale});
  if (format == "jpeg" && image.dim(2) == 4) {
    logging::warn("save_img: JPEG files have no opacities; they are left out of " + path.string());
    image = codecs::with_channels(image, 3);
  }
  write_file_atomically(path.string(), format == "png"
                                           ? encode_png(image)
                                           : encode_jpeg(image, {.quality = options.quality}));
}

}  // namespace cornu::data
