// SPDX-License-Identifier: Apache-2.0
#include "data/readers/image/decode_image.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "data/readers/image/codecs.h"

namespace cornu::data {
namespace {

struct ImageFormat {
  std::string_view magic;
  Tensor (*decode)(const codecs::Picture&);
};

constexpr std::array kImageFormats = {
    ImageFormat{"\xff\xd8\xff", codecs::decode_jpeg},
    ImageFormat{"\x89PNG\r\n\x1a\n", codecs::decode_png},
    ImageFormat{"GIF8", codecs::decode_gif},
    ImageFormat{"BM", codecs::decode_bmp},
};

void check_decode_options(const DecodeImageOptions& options) {
  constexpr std::array kChannels = {0, 1, 3, 4};
  check<InvalidArgument>(std::count(kChannels.begin(), kChannels.end(), options.channels) > 0,
                         "decode_image: expected channels of 0, 1, 3 or 4, got {}.",
                         options.channels);
  constexpr std::array kScales = {1, 2, 4, 8};
  check<InvalidArgument>(std::count(kScales.begin(), kScales.end(), options.dct_scale) > 0,
                         "decode_image: expected a dct_scale of 1, 2, 4 or 8, got {}.",
                         options.dct_scale);
  check<InvalidArgument>(
      options.dct_method == "INTEGER_FAST" || options.dct_method == "INTEGER_ACCURATE",
      "decode_image: expected a dct_method of 'INTEGER_FAST' or 'INTEGER_ACCURATE', got '{}'.",
      options.dct_method);
}

// Rounds like Pillow.
uint8_t grey_of(const uint8_t* color) {
  return static_cast<uint8_t>((color[0] * 19595 + color[1] * 38470 + color[2] * 7471 + 0x8000) >>
                              16);
}

void convert_pixel(const uint8_t* from, int64_t from_channels, uint8_t* to, int64_t to_channels) {
  if (to_channels <= 2) {
    to[0] = from_channels <= 2 ? from[0] : grey_of(from);
  } else {
    for (int i = 0; i < 3; ++i) to[i] = from[from_channels <= 2 ? 0 : i];
  }
  if (to_channels % 2 == 0) {
    to[to_channels - 1] = from_channels % 2 == 0 ? from[from_channels - 1] : 255;
  }
}

}  // namespace

namespace codecs {

void check_size(const Picture& picture, uint64_t width, uint64_t height, uint64_t frames) {
  check<DataLoss>(width > 0 && height > 0, "{}: an image of {} x {} pixels.", picture.name, width,
                  height);
  uint64_t pixels = 0;
  const bool fits =
      !__builtin_mul_overflow(width, height, &pixels) &&
      !__builtin_mul_overflow(pixels, frames, &pixels) &&
      pixels <= static_cast<uint64_t>(std::max<int64_t>(0, picture.options.max_pixels));
  check<ResourceExhausted>(
      fits,
      "{}: {} x {} pixels{} are more than the {} allowed. Raise max_pixels if the file can be "
      "trusted.",
      picture.name, width, height, frames > 1 ? fmt::format(" in {} frames", frames) : "",
      picture.options.max_pixels);
}

void raise_broken(const Picture& picture, const char* format, const std::string& what) {
  raise<DataLoss>("{}: not a whole {} file: {}.", picture.name, format, what);
}

void raise_too_small(const Picture& picture, const char* format, uint64_t width, uint64_t height) {
  raise_broken(
      picture, format,
      fmt::format("{} bytes can't hold {} x {} pixels", picture.bytes.size(), width, height));
}

Tensor with_channels(const Tensor& image, int64_t channels) {
  const int64_t own = image.dim(-1);
  if (channels == 0 || channels == own) return image;
  Tensor result = Tensor::empty(image.shape().slice(0, -1).concat({channels}), DType::UInt8);
  const auto from = image.data<uint8_t>();
  const auto to = result.mutable_data<uint8_t>();
  const int64_t pixels = image.num_elements() / own;
  for (int64_t i = 0; i < pixels; ++i) {
    convert_pixel(from.data() + i * own, own, to.data() + i * channels, channels);
  }
  return result;
}

}  // namespace codecs

Tensor decode_image(std::span<const std::byte> file, const DecodeImageOptions& options,
                    const std::string& name) {
  check_decode_options(options);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  for (const ImageFormat& format : kImageFormats) {
    if (!text.starts_with(format.magic)) continue;
    const Tensor image =
        codecs::with_channels(format.decode({file, options, name}), options.channels);
    const bool first_of_several = image.rank() == 4 && !options.expand_animations;
    return first_of_several ? image.with_shape(image.shape().slice(1)) : image;
  }
  check<DataLoss>(!file.empty(), "{}: an empty file, expected a JPEG, PNG, GIF or BMP file.", name);
  std::string bytes;
  for (std::byte byte : file.first(std::min<size_t>(file.size(), 4))) {
    bytes += fmt::format(" {:02x}", std::to_integer<int>(byte));
  }
  raise<DataLoss>("{}: expected a JPEG, PNG, GIF or BMP file, but it begins with{}.", name, bytes);
}

}  // namespace cornu::data
